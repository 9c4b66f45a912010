import { type JsonSchema, Resolve } from '@jsonforms/core';
import { isObject } from '../ui/is-object.ts';
import { itemsOf, propertiesOf, type Schema } from '../ui/schema-shape.ts';

/** With more, a page is slow: each letter that is typed asks every field whether it changes. */
const MAX_FIELDS = 300;
const MAX_DEPTH = 12;

const tooMany = `it has more than ${MAX_FIELDS} fields`;
const tooDeep = `it is more than ${MAX_DEPTH} levels deep`;

/** Says why no fields can be drawn of a schema that a tenant wrote; undefined if they can. */
export function schemaProblem(schema: Schema): string | undefined {
  if (Object.keys(propertiesOf(schema)).length === 0) return 'it has no properties';
  let count = 0;
  for (const { part, depth } of schemasIn(schema)) {
    count += Object.keys(propertiesOf(part)).length;
    if (count > MAX_FIELDS) return tooMany;
    if (depth > MAX_DEPTH) return tooDeep;
    const problem = partProblem(part);
    if (problem) return problem;
  }
  return undefined;
}

interface Part {
  part: Schema;
  depth: number;
}

/** The schema, and those of its fields, which may be in objects and lists. */
function* schemasIn(part: Schema, depth = 0): Generator<Part> {
  yield { part, depth };
  for (const property of Object.values(propertiesOf(part))) yield* schemasIn(property, depth + 1);
  if (isObject(part.items)) yield* schemasIn(part.items, depth + 1);
}

function partProblem(part: Schema): string | undefined {
  if (part.$ref !== undefined) return 'it has the keyword $ref, which may lead in circles';
  if (part.required !== undefined && !Array.isArray(part.required)) return 'its `required` is no list';
  // Paths of JSON Forms are names joined by dots.
  const unfit = Object.keys(propertiesOf(part)).find((name) => name === '' || /[.[\]]/.test(name));
  return unfit === undefined ? undefined : `it has a field “${unfit}”, whose name is part of no path`;
}

const LAYOUTS: ReadonlySet<unknown> = new Set([
  ...['VerticalLayout', 'HorizontalLayout', 'Group', 'Categorization', 'Category'],
]);
const EFFECTS: ReadonlySet<unknown> = new Set(['SHOW', 'HIDE', 'ENABLE', 'DISABLE', 'READONLY', 'WRITABLE']);

/** Patterns may backtrack without end, and references lead in circles. */
const ENDLESS = /"(pattern|patternProperties|\$ref|\$dynamicRef|\$recursiveRef)":/;

/** Says why a layout that a tenant wrote for a schema cannot be drawn; undefined if it can. */
export function layoutProblem(layout: unknown, schema: Schema): string | undefined {
  let count = 0;
  for (const { element, depth } of elementsIn(layout)) {
    count += 1;
    if (count > MAX_FIELDS) return tooMany;
    if (depth > MAX_DEPTH) return tooDeep;
    const problem = elementProblem(element, schema) ?? ruleProblem(element, schema);
    if (problem) return problem;
  }
  return undefined;
}

function* elementsIn(element: unknown, depth = 0): Generator<{ element: Schema; depth: number }> {
  yield { element: isObject(element) ? element : {}, depth };
  const inner = isObject(element) && Array.isArray(element.elements) ? element.elements : [];
  for (const one of inner) yield* elementsIn(one, depth + 1);
}

function elementProblem(element: Schema, schema: Schema): string | undefined {
  const { type, elements, scope, text, options } = element;
  if (LAYOUTS.has(type)) return Array.isArray(elements) ? undefined : `a ${type} has no list of elements`;
  if (type === 'Label') return typeof text === 'string' ? undefined : 'a Label has no text';
  if (type !== 'Control') return `it has an element of the type ${JSON.stringify(type)}`;
  const field = fieldAt(scope, schema);
  if (!field) return `the scope ${JSON.stringify(scope)} leads to no field`;
  const detail = isObject(options) ? options.detail : undefined;
  return isObject(detail) ? layoutProblem(detail, itemsOf(field) ?? field) : undefined;
}

function fieldAt(scope: unknown, schema: Schema): Schema | undefined {
  if (typeof scope !== 'string' || !/^#(\/properties\/[^/]+)*$/.test(scope)) return undefined;
  const root = schema as JsonSchema;
  const field: unknown = scope === '#' ? schema : Resolve.schema(root, scope, root);
  return isObject(field) ? field : undefined;
}

function ruleProblem({ rule }: Schema, schema: Schema): string | undefined {
  if (rule === undefined) return undefined;
  if (!isObject(rule) || !EFFECTS.has(rule.effect)) return 'a rule has no effect';
  if (ENDLESS.test(JSON.stringify(rule))) return 'a rule has a keyword that may take without end';
  return conditionProblem(rule.condition, schema);
}

function conditionProblem(condition: unknown, schema: Schema): string | undefined {
  if (!isObject(condition)) return 'a rule has no condition';
  if (condition.type === 'AND' || condition.type === 'OR') {
    if (!Array.isArray(condition.conditions)) return `a rule has ${condition.type} of no conditions`;
    return condition.conditions.map((one) => conditionProblem(one, schema)).find((problem) => problem !== undefined);
  }
  if (!fieldAt(condition.scope, schema)) return `a rule reads ${JSON.stringify(condition.scope)}, which is no field`;
  if (condition.type === 'LEAF' || isObject(condition.schema)) return undefined;
  return 'the condition of a rule has no schema';
}
