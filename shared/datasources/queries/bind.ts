import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts';
import { quote } from '../../core/quote.ts';
import { firstIssues, type Issue, invalid, invalidField } from '../../core/schema/issues.ts';
import { parseValue, requireValue } from '../../core/schema/parse.ts';
import { resolveTemplates } from '../../workflow/resolve-config.ts';
import {
  asText,
  evaluate,
  expressionsOf,
  faultsOf,
  shownSource,
  type Template,
} from '../../workflow/templates/expressions.ts';
import { fillJSON } from '../../workflow/templates/fill-json.ts';
import { parseAround } from '../../workflow/templates/parse-around.ts';
import { Filled, fillParts, findTemplate, type Text, textsOf } from '../../workflow/templates/templates.ts';
import type { DatasourceDefinition, OneUse } from '../types/define-datasource.ts';
import { QueryOptions } from './options.ts';
import { bindStatement, type Statement, statementFaults } from './statement.ts';

const ROOT = 'inputs';

/** A query with its values filled in, as a connector gets it. */
export interface BoundQuery<Query = unknown> {
  query: Query;
  /** Set if the type's query is SQL; the text in `query` then still has its templates. */
  statement: Statement | null;
}

/** Finds the faults of `dataQueryOptions` that do not depend on values. A calculation for `runCooperatively`. */
export function* checkQuery(definition: DatasourceDefinition, options: JsonObject): Generator<void, Issue[]> {
  const common = parseValue(QueryOptions, options);
  const own = ownFields(options);
  const uses = usesOf(definition, own);
  const declared = QueryOptions.shape.inputDefinitions.safeParse(options.inputDefinitions);
  const inputs = new Set(declared.success ? declared.data.map(({ key }) => key) : []);
  yield;
  const { defaultValue, raw } = { defaultValue: definition.defaults.query, raw: Object.keys(uses) };
  const { issues } = parseAround(definition.query, own, { defaultValue, raw });
  yield;
  const texts = textsOf(own);
  const each = function* (faults: (text: Text) => Iterable<string>): Generator<Issue> {
    for (const text of texts) for (const message of faults(text)) yield { path: text.path, message };
  };
  yield;
  return [
    ...(common.success ? [] : common.issues),
    ...issues,
    ...firstIssues(each(({ template }) => faultsOf(template, ROOT))),
    ...firstIssues(each(({ template }) => undeclared(template, inputs))),
    ...(yield* useFaults(texts, uses)),
    ...bareCredentials(own),
  ];
}

const credentials: ReadonlySet<string> = new Set([
  'authorization',
  'proxy-authorization',
  'cookie',
  'x-api-key',
  'x-auth-token',
]);

/** Refuses credentials in headers: a query is stored in clear. A template is not a credential, but may insert one. */
function bareCredentials({ headers }: JsonObject): Issue[] {
  if (!Array.isArray(headers)) return [];
  return headers.flatMap((header, index) => {
    const { key, value } = isJsonObject(header) ? header : {};
    const isBare = typeof value === 'string' && value !== '' && !findTemplate(value);
    if (!isBare || !credentials.has(String(key).toLowerCase())) return [];
    const message = 'is a credential, and a query is stored in clear: put it into the headers of the datasource';
    return [{ path: ['headers', index, 'value'], message }];
  });
}

/**
 * Fills the values into the query and parses it by the type's schema; throws VALIDATION_ERROR if it does not match. A calculation for
 * `runCooperatively`.
 */
export function* bindQuery(
  definition: DatasourceDefinition,
  options: JsonObject,
  inputs: JsonObject,
): Generator<void, BoundQuery> {
  const issues = yield* checkQuery(definition, options);
  if (issues.length > 0) throw invalid(issues);
  const scope = inputs;
  const own = ownFields(options);
  const uses = usesOf(definition, own);
  const resolved = resolveTemplates(own, scope, { root: ROOT, raw: Object.keys(uses) }) as JsonObject;
  let statement: Statement | null = null;
  for (const [field, use] of Object.entries(uses)) {
    const text = own[field];
    if (text === undefined) continue;
    // The field as JSON instead of text: templates in it become values.
    if (typeof text !== 'string') resolved[field] = resolveTemplates(text, scope, { root: ROOT });
    else if (use.as === 'statement') statement = yield* bindStatement(text, use.dialect, scope);
    else resolved[field] = fillers[use.as](field, text, scope);
  }
  return { query: requireValue(definition.query, resolved), statement };
}

const fillers: Record<Exclude<OneUse['as'], 'statement'>, (field: string, text: string, scope: JsonObject) => Json> = {
  json: (field, text, scope) => fillJSON(field, text, (expression) => evaluate(expression, scope, ROOT)),
  path: fillPath,
  topic: fillTopic,
  xml: fillXML,
  text: (_field, text, scope) => resolveTemplates(text, scope, { root: ROOT }),
  // Has no templates: `checkQuery` has refused them.
  none: (_field, text) => text,
};

/** How values are put into each field. A field that names the language of another cannot have templates. */
function usesOf({ templates }: DatasourceDefinition, own: JsonObject): Readonly<Record<string, OneUse>> {
  const uses: Record<string, OneUse> = {};
  for (const [field, use] of Object.entries(templates)) {
    if (use.as !== 'chosen') {
      uses[field] = use;
      continue;
    }
    uses[use.by] = { as: 'none', instead: `cannot be used here: this field names the language of ${field}` };
    const choice = own[use.by] ?? use.otherwise;
    uses[field] = (typeof choice === 'string' ? use.uses[choice] : undefined) ?? {
      as: 'none',
      instead: `cannot be used here until ${use.by} is valid`,
    };
  }
  return uses;
}

/** The type's own fields. The fields that all queries have are left out: templates in a transform are not replaced. */
function ownFields(options: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(options).filter(([key]) => !Object.hasOwn(QueryOptions.shape, key)));
}

function* undeclared(template: Template | undefined, inputs: ReadonlySet<string>): Generator<string> {
  if (inputs.size === 0) return;
  const known = [...inputs].map((name) => (name.length > MAX_NAME ? `${name.slice(0, MAX_NAME)}…` : name)).join(', ');
  for (const { root, keys } of expressionsOf(template)) {
    const name = String(keys[0] ?? '');
    if (root === ROOT && name !== '' && !inputs.has(name))
      yield `there is no input ${quote(name)}; expected one of ${known}`;
  }
}

const MAX_NAME = 50;

function* useFaults(texts: readonly Text[], uses: Readonly<Record<string, OneUse>>): Generator<void, Issue[]> {
  const issues: Issue[] = [];
  for (const { path, text, template } of texts) {
    const use = uses[String(path[0])];
    // A statement is one text. Inside of a list or an object its templates are values.
    if (use?.as === 'statement' && path.length === 1)
      for (const message of yield* statementFaults(text, use.dialect, template)) issues.push({ path, message });
    if (use?.as === 'none') issues.push(...firstIssues(refused(path, template, use.instead)));
  }
  return firstIssues(issues);
}

function* refused(path: Text['path'], template: Template | undefined, instead: string): Generator<Issue> {
  for (const { source } of expressionsOf(template)) yield { path, message: `${shownSource(source)} ${instead}` };
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
};

/** Fills XML. A value is text or a part of an attribute: it can neither begin nor end an element. */
function fillXML(field: string, text: string, scope: JsonObject): string {
  const filled = new Filled();
  let isUnsafe = false;
  for (const part of findTemplate(text)?.parts ?? [text]) {
    if (typeof part === 'string') {
      filled.add(part);
      // The position of the previous value was safe, so only this part can have opened a comment, CDATA or a tag.
      isUnsafe = isUnsafePosition(part);
      continue;
    }
    // Nothing can be escaped at such a position, so no value would be safe there.
    if (isUnsafe) throw invalidField(field, 'a value cannot stand in a comment, in CDATA or in the name of a tag');
    filled.insert(evaluate(part, scope, ROOT), asXML);
  }
  return filled.text;
}

function asXML(value: Json | undefined): string {
  return asText(value).replace(/[&<>"']/g, (character) => entities[character] ?? '');
}

/** Whether a text ends in a comment, in CDATA or in the name of a tag. */
function isUnsafePosition(xml: string): boolean {
  const isOpen = (begin: string, end: string) => {
    const at = xml.lastIndexOf(begin);
    return at >= 0 && !xml.includes(end, at + begin.length);
  };
  const tag = xml.lastIndexOf('<');
  return isOpen('<!--', '-->') || isOpen('<![CDATA[', ']]>') || (tag >= 0 && /^<[?!/]?[^\s>"']*$/.test(xml.slice(tag)));
}

/** Fills the path of a URL. A value is one segment or a part of one: it can neither end the segment nor make it `.` or `..`. */
function fillPath(field: string, text: string, scope: JsonObject): string {
  const parts = findTemplate(text)?.parts ?? [text];
  const filled = fillParts(parts, (expression) => evaluate(expression, scope, ROOT), asSegment);
  const [path = ''] = filled.split(/[?#]/);
  // URL parsers treat an encoded dot as a dot.
  if (filled !== text && path.split('/').some((segment) => /^(?:\.|%2e){1,2}$/i.test(segment)))
    throw invalidField(field, 'a value cannot be "." or ".." in the path');
  return filled;
}

function asSegment(value: Json | undefined): string {
  return encodeURIComponent(asText(value));
}

/** Fills an MQTT topic. A value next to other text is one level or a part of one; a value alone is the whole topic. It is never a wildcard. */
function fillTopic(field: string, text: string, scope: JsonObject): string {
  const parts = (findTemplate(text)?.parts ?? [text]).filter((part) => part !== '');
  const reserved = parts.length > 1 ? /[/+#]/ : /[+#]/;
  const asLevel = (value: Json | undefined) => {
    const level = asText(value);
    if (reserved.test(level))
      throw invalidField(field, 'a value must be one level without wildcards: / + # are not allowed in it');
    return level;
  };
  return fillParts(parts, (expression) => evaluate(expression, scope, ROOT), asLevel);
}
