/**
 * What happens in a study, as it happens: by server-sent events, which reconnect by themselves; where they do not come
 * through, by asking every few seconds. `onlink` hears "live", "lost" or "asking".
 */

import { get } from "../server.js";

const PATIENCE_MS = 6000;
const ASK_MS = 2500;

export function follow(path, onlive, onlink) {
  const events = new EventSource(`${path}/events`);
  let asking = null;
  let patience = null;

  const hear = (event) => {
    settle("live");
    onlive(JSON.parse(event.data));
  };
  const settle = (link) => {
    clearTimeout(patience);
    patience = null;
    if (link === "live") {
      clearInterval(asking);
      asking = null;
    }
    onlink(link);
  };
  const ask = async () => {
    try {
      onlive(await get(`${path}/live`));
      onlink("asking");
    } catch {
      onlink("lost");
    }
  };
  const giveUp = () => {
    if (asking) return;
    ask();
    asking = setInterval(ask, ASK_MS);
  };

  events.addEventListener("live", hear);
  events.addEventListener("open", () => settle("live"));
  events.addEventListener("error", () => {
    onlink("lost");
    if (events.readyState === EventSource.CLOSED) giveUp();
    else patience ??= setTimeout(giveUp, PATIENCE_MS);
  });
  addEventListener("pagehide", () => events.close());
}
