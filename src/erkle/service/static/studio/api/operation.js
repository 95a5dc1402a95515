/** One request of the API: folded to a line, unfolded to what it takes and gives. */

import { el } from "../elements.js";
import { shape } from "./shape.js";

export function operation({ path, method, description = "", parameters = [], requestBody, responses }, spec) {
  return el(
    "details",
    { class: "card tight operation" },
    el(
      "summary",
      {},
      el("span", { class: `method ${method}` }, method.toUpperCase()),
      el("code", {}, path),
      el("span", { class: "soft small" }, ...coded(first(description))),
    ),
    el(
      "div",
      { class: "stack operation-body" },
      rest(description) && el("p", { class: "prose operation-text" }, ...coded(rest(description))),
      parameters.length > 0 &&
        part(
          "Parameters",
          el(
            "ul",
            { class: "plain" },
            parameters.map((each) => parameter(each, spec)),
          ),
        ),
      requestBody && part("Body", ...contents(requestBody.content, spec)),
      part("Replies", ...Object.entries(responses).map(([status, reply]) => answer(status, reply, spec))),
    ),
  );
}

/** The first sentence, and what comes after it. */
const first = (text) => text.match(/^.*?[.](?=\s|$)/s)?.[0] ?? text;
const rest = (text) => text.slice(first(text).length).trim();

/** Text with what stands between backticks as code. */
export function coded(text) {
  return text.split(/`+/).map((piece, index) => (index % 2 ? el("code", {}, piece) : piece));
}

function part(title, ...content) {
  return el("div", {}, el("h3", { class: "label" }, title), ...content);
}

function parameter({ name, in: where, required, schema, description }, spec) {
  return el(
    "li",
    {},
    el("code", {}, name),
    el(
      "span",
      { class: "soft small" },
      ` ${where}${required ? ", needed" : ""}${description ? `: ${description}` : ""} `,
    ),
    el("code", {}, shape(schema ?? {}, spec)),
  );
}

function answer(status, { description, content }, spec) {
  return el(
    "div",
    { class: "reply" },
    el(
      "p",
      { class: "small" },
      el("span", { class: `tag ${status < 400 ? "good" : "warn"}` }, status),
      ` ${description ?? ""}`,
    ),
    ...contents(content, spec),
  );
}

function contents(content = {}, spec) {
  return Object.entries(content).map(([type, { schema }]) =>
    el(
      "div",
      {},
      el("p", { class: "hint" }, type),
      schema && el("pre", { class: "small" }, el("code", {}, shape(schema, spec))),
    ),
  );
}
