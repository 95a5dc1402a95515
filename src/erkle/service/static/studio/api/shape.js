/** A JSON schema as the outline of a value: {"title": string, "objects": [string]}. */

const DEEPEST = 5;

export function shape(schema, spec, indent = "", depth = 0, above = []) {
  if (schema.$ref) {
    const name = schema.$ref.split("/").pop();
    if (above.includes(name) || depth > DEEPEST) return name;
    return shape(spec.components.schemas[name], spec, indent, depth, [...above, name]);
  }
  const inner = (part, deeper = indent) => shape(part, spec, deeper, depth + 1, above);
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  const either = schema.anyOf ?? schema.oneOf ?? (schema.allOf?.length > 1 ? schema.allOf : null);
  if (either) return either.map((part) => inner(part)).join(" | ");
  if (schema.allOf) return inner(schema.allOf[0]);
  if (schema.type === "array")
    return `[${schema.prefixItems ? schema.prefixItems.map((part) => inner(part)).join(", ") : inner(schema.items ?? {})}]`;
  if (schema.properties) return object(schema, inner, indent);
  if (schema.type === "object") return "{…}";
  return `${schema.format === "binary" || schema.contentMediaType ? "file" : (schema.type ?? "anything")}${bounds(schema)}`;
}

function object({ properties, required = [] }, inner, indent) {
  const deeper = `${indent}  `;
  const line = ([name, part]) => `${deeper}"${name}"${required.includes(name) ? "" : "?"}: ${inner(part, deeper)}`;
  return `{\n${Object.entries(properties).map(line).join(",\n")}\n${indent}}`;
}

function bounds({ minimum, maximum, maxLength, default: usual }) {
  const told = [
    minimum !== undefined && `from ${minimum}`,
    maximum !== undefined && `to ${maximum}`,
    maxLength !== undefined && `at most ${maxLength} characters`,
    usual !== undefined && `else ${JSON.stringify(usual)}`,
  ].filter(Boolean);
  return told.length ? ` (${told.join(", ")})` : "";
}
