/** The dashboard of one study: the map and the error curves, then participants and disputed questions. */

import { PaceChart } from "./charts/pace.js";
import { attempt } from "./dialogs.js";
import { el } from "./elements.js";
import { get } from "./server.js";
import { Answering } from "./study/answering.js";
import { Disputed } from "./study/disputed.js";
import { ErrorCard } from "./study/error.js";
import { Exchange } from "./study/exchange.js";
import { FeaturesCard } from "./study/features.js";
import { StudyHeader } from "./study/header.js";
import { follow } from "./study/live.js";
import { MapCard } from "./study/map-card.js";
import { Numbers } from "./study/numbers.js";
import { Participants } from "./study/participants.js";
import { Stall } from "./study/stall.js";
import { Strategies } from "./study/strategies.js";
import { top } from "./top.js";

// Shortest time between two refreshes of the tables, and of the objects.
const TABLES_MS = 4000;

const main = document.getElementById("main");
const path = `/api/studies/${encodeURIComponent(decodeURIComponent(location.pathname.split("/")[2]))}`;

try {
  const parts = [path, `${path}/objects`, `${path}/features`].map(get);
  const [, study, objects, features] = await Promise.all([top(), ...parts]);
  open(study, objects, features);
} catch (error) {
  main.append(
    el(
      "div",
      { class: "card empty" },
      el("h1", {}, error.status === 404 ? "Study not found" : "This study cannot be shown"),
      el("p", { class: "soft" }, error.message),
      el("a", { class: "button", href: "/studies" }, "Go to studies"),
    ),
  );
}

function open(study, objects, blocks) {
  const map = new MapCard(objects);
  const errors = new ErrorCard();
  const pace = new PaceChart();
  const numbers = new Numbers(study);
  const participants = new Participants(path);
  const disputed = new Disputed(path, objects);
  const strategies = new Strategies();
  const answering = new Answering();
  const tables = throttled(() => Promise.all([participants.refresh(), disputed.refresh()]), TABLES_MS);
  const data = new Exchange(path, tables);
  const features = new FeaturesCard(path, blocks, objects, (now) => data.offerFeatures(now));
  const stall = new Stall();

  let latest = null;
  let known = objects;
  const use = (found) => {
    if (found.length === known.length) return;
    known = found;
    for (const card of [map, disputed]) card.use(found);
    for (const card of [header, features]) card.count(found.length);
    if (latest) showMap();
    tables();
  };
  const readObjects = throttled(async () => {
    const found = await attempt(() => get(`${path}/objects`));
    if (found) use(found);
  }, TABLES_MS);
  const showMap = () => {
    // Somebody else may have added objects.
    if (latest.map && latest.map.points.length !== known.length) readObjects();
    else map.update(latest);
  };
  const header = new StudyHeader(study, tables, use);

  header.node.append(stall.node);
  main.classList.add("dashboard");
  main.append(
    header.node,
    numbers.node,
    el(
      "div",
      { class: "dashboard-first" },
      map.node,
      el(
        "div",
        { class: "dashboard-side" },
        errors.node,
        answering.node,
        el("section", { class: "card", "aria-label": "Pace" }, el("h2", {}, "Pace"), pace.node),
      ),
    ),
    participants.node,
    el("div", { class: "dashboard-last" }, disputed.node, features.node, strategies.node, data.node),
  );

  let counts = null;
  const show = (live) => {
    latest = live;
    header.update(live);
    data.update(live);
    stall.update(live);
    numbers.update(live);
    showMap();
    errors.update(live);
    pace.update(live.per_minute);
    strategies.update(live.strategies);
    answering.update(live);
    features.update(live);
    // The number of learned answers also changes when the learner has started, and after an exclusion. The number of
    // unfinished participants changes when somebody ends without an answer, for example because the study is closed. The
    // map also changes when the same answers are learned again, with other features or objects.
    const { answers, learned, participants: joined, unfinished_participants: unfinished, skips } = live;
    const now = [answers, learned, joined, unfinished, skips, live.map?.points[0]].join(" ");
    if (now !== counts) tables();
    counts = now;
  };
  tables();
  follow(path, show, (link) => header.connected(link));
}

/** Calls `work` at most once per `ms`. Calls in between become one call at the end of that time. */
function throttled(work, ms) {
  let waiting = null;
  let wanted = false;
  return function ask() {
    if (waiting) return void (wanted = true);
    work();
    waiting = setTimeout(() => {
      waiting = null;
      if (wanted) ask();
      wanted = false;
    }, ms);
  };
}
