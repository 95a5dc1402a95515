/** The card with the map. It gets another map if the study gets other objects. */

import { el } from "../elements.js";
import { StudyMap } from "../map/map.js";
import { isTooEarly } from "./error.js";

export class MapCard {
  constructor(objects) {
    this.node = el(
      "section",
      { class: "card map-section", "aria-label": "Map" },
      el(
        "div",
        { class: "card-head" },
        el("h2", {}, "Map"),
        el("p", { class: "hint for-mouse" }, "Drag to move, Ctrl + wheel to zoom"),
      ),
    );
    this.use(objects);
  }

  /** Starts again with these objects. */
  use(objects) {
    this.objects = objects;
    this.map?.close();
    this.map?.node.remove();
    this.map = new StudyMap(objects);
    this.node.append(this.map.node);
    this.isEmpty = true;
  }

  update(live) {
    if (live.map) this.map.update(live.map.points, remark(live));
    // The model knows nothing any more, for example because its features were removed. Before it is ready, it may still.
    else if (live.learner.ready && !this.isEmpty) this.use(this.objects);
    this.isEmpty = !live.map && this.isEmpty;
    this.map.expect(live.state !== "closed" || live.answers > 0);
  }
}

/** Why the map is preliminary; null if it is not. */
function remark({ answers, learned, stopping }) {
  if (!learned) return `${answers ? "No answer is learned" : "Nobody has answered"} yet: this map shows the features.`;
  return isTooEarly(stopping) ? "The points will still move a lot." : null;
}
