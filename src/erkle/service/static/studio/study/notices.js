/** What the header of a study says about its state, in a sentence. */

import { counted } from "../wording.js";

/** `live` is what the server last reported, or null. */
export function notice({ state, settings }, live) {
  if (state === "draft") return "This study is a draft. Check the preview, then open the study.";
  if (state === "open")
    return live?.participants === 0
      ? "This study is open and has no participants yet. Copy the participant link and send it to them."
      : "";
  const finish = settings.unfinished.stopped === "finish" ? live?.unfinished_participants : 0;
  const rest = finish ? ` ${counted(finish, "participant")} in the middle may still finish.` : "";
  return state === "paused"
    ? `This study is paused. Nobody can join it.${rest}`
    : `This study is closed. Nobody can join it any more.${rest}`;
}
