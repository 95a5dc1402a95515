/** The OpenAPI document, readable: every path with its parameters, bodies and replies. */

import { el } from "./elements.js";
import { coded, operation } from "./api/operation.js";
import { get } from "./server.js";
import { brand } from "./top.js";

document
  .getElementById("top")
  .replaceWith(
    el(
      "header",
      { class: "topbar" },
      brand("/studies"),
      el("span", { class: "grow" }),
      el("a", { class: "button quiet small", href: "/openapi.json" }, "openapi.json"),
    ),
  );

const main = document.getElementById("main");
const spec = await get("/openapi.json");
const METHODS = ["get", "post", "put", "patch", "delete"];

const all = Object.entries(spec.paths).flatMap(([path, item]) =>
  METHODS.filter((method) => item[method]).map((method) => ({ path, method, ...item[method] })),
);
const groups = Map.groupBy(all, ({ tags, path }) => tags?.[0] ?? area(path));

main.append(
  el("h1", {}, `${spec.info.title} ${spec.info.version}`),
  el(
    "p",
    { class: "soft prose" },
    ...coded(spec.info.description ?? "Everything the pages do can be done with these requests."),
  ),
  el(
    "nav",
    { class: "row api-groups", "aria-label": "Parts" },
    [...groups.keys()].map((name) => el("a", { href: `#${anchor(name)}` }, name)),
  ),
  ...[...groups].map(([name, operations]) =>
    el(
      "section",
      { class: "stack api-group", id: anchor(name) },
      el("h2", {}, name),
      operations.map((each) => operation(each, spec)),
    ),
  ),
);

function anchor(name) {
  return name.replaceAll(/\W+/g, "-");
}

/** The part of the API a path belongs to, where nobody has said. */
function area(path) {
  const [first, second] = path.split("/").filter(Boolean);
  return (first === "api" ? second : first) ?? "pages";
}
