/**
 * Follows a study with server-sent events, which reconnect by themselves. If events do not get through, for example
 * because of a proxy, it polls every few seconds. `onlink` is called with "live", "lost" or "polling".
 */

import { get } from "../server.js";

// Time to wait for events to reconnect before polling starts.
const RECONNECT_MS = 6000;
// Time between two polls.
const POLL_MS = 2500;

export function follow(path, onlive, onlink) {
  const events = new EventSource(`${path}/events`);
  let polling = null;
  let reconnecting = null;

  const hear = (event) => {
    settle("live");
    onlive(JSON.parse(event.data));
  };
  const settle = (link) => {
    clearTimeout(reconnecting);
    reconnecting = null;
    if (link === "live") {
      clearInterval(polling);
      polling = null;
    }
    onlink(link);
  };
  const poll = async () => {
    try {
      onlive(await get(`${path}/live`));
      onlink("polling");
    } catch {
      onlink("lost");
    }
  };
  const startPolling = () => {
    if (polling) return;
    poll();
    polling = setInterval(poll, POLL_MS);
  };

  events.addEventListener("live", hear);
  events.addEventListener("open", () => settle("live"));
  events.addEventListener("error", () => {
    onlink("lost");
    if (events.readyState === EventSource.CLOSED) startPolling();
    else reconnecting ??= setTimeout(startPolling, RECONNECT_MS);
  });
  addEventListener("pagehide", () => events.close());
}
