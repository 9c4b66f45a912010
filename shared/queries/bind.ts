import type { DatasourceDefinition, OneUse } from '../datasources/define-datasource.ts';
import { isJsonObject, type Json, type JsonObject } from '../json.ts';
import { parseValue, requireValue } from '../parse-value.ts';
import { resolveTemplates } from '../workflow/arguments.ts';
import { type Issue, invalid, invalidField } from '../workflow/issues.ts';
import { parseAround } from '../workflow/parse-around.ts';
import { asText, type Expression, evaluate, faultsOf, findTemplate, textsOf } from '../workflow/templates.ts';
import { QueryOptions } from './options.ts';
import { bindStatement, type Statement, statementFaults } from './statement.ts';

const ROOT = 'inputs';

/** A query with its values filled in, as a connector gets it. */
export interface BoundQuery<Query = unknown> {
  query: Query;
  /** Set if the type's query is SQL; the text in `query` then still has its templates. */
  statement: Statement | null;
}

/** Finds the faults of `dataQueryOptions` that do not depend on values. */
export function checkQuery(definition: DatasourceDefinition, options: JsonObject): Issue[] {
  const common = parseValue(QueryOptions, options);
  const own = ownFields(options);
  const uses = usesOf(definition, own);
  const declared = QueryOptions.shape.inputDefinitions.safeParse(options.inputDefinitions);
  const inputs = declared.success ? declared.data.map(({ key }) => key) : [];
  const texts = [...textsOf(own)];
  return [
    ...(common.success ? [] : common.issues),
    ...parseAround(definition.query, own, { defaultValue: definition.defaults.query, raw: Object.keys(uses) }).issues,
    ...texts.flatMap(({ path, text }) => faultsOf(text, ROOT).map((message) => ({ path, message }))),
    ...texts.flatMap(({ path, text }) => undeclared(text, inputs).map((message) => ({ path, message }))),
    ...texts.flatMap(({ path, text }) => useFaults(text, uses[String(path[0])]).map((message) => ({ path, message }))),
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
    const isBare = typeof value === 'string' && value !== '' && expressionsOf(value).length === 0;
    if (!isBare || !credentials.has(String(key).toLowerCase())) return [];
    const message = 'is a credential, and a query is stored in clear: put it into the headers of the datasource';
    return [{ path: ['headers', index, 'value'], message }];
  });
}

/** Fills the values into the query and parses it by the type's schema; throws VALIDATION_ERROR if it does not match. */
export function bindQuery(definition: DatasourceDefinition, options: JsonObject, inputs: JsonObject): BoundQuery {
  const issues = checkQuery(definition, options);
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
    else if (use.as === 'statement') statement = bindStatement(text, use.dialect, scope);
    else resolved[field] = fillers[use.as](field, text, scope);
  }
  return { query: requireValue(definition.query, resolved), statement };
}

const fillers: Record<Exclude<OneUse['as'], 'statement'>, (field: string, text: string, scope: JsonObject) => Json> = {
  json: fillJson,
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

function undeclared(text: string, inputs: readonly string[]): string[] {
  if (inputs.length === 0) return [];
  return expressionsOf(text)
    .filter(({ root }) => root === ROOT)
    .map(({ keys }) => String(keys[0] ?? ''))
    .filter((name) => name !== '' && !inputs.includes(name))
    .map((name) => `there is no input "${name}"; expected one of ${inputs.join(', ')}`);
}

function expressionsOf(text: string): Expression[] {
  return findTemplate(text)?.parts.filter((part) => typeof part === 'object') ?? [];
}

function useFaults(text: string, use: OneUse | undefined): readonly string[] {
  if (use?.as === 'statement') return statementFaults(text, use.dialect);
  if (use?.as === 'none') return expressionsOf(text).map(({ source }) => `{{${source}}} ${use.instead}`);
  return [];
}

/** Values outside of quotes are written as JSON, inside of quotes they are escaped. */
function fillJson(field: string, text: string, scope: JsonObject): string {
  let filled = '';
  let isQuoted = false;
  for (const part of findTemplate(text)?.parts ?? [text]) {
    if (typeof part === 'string') {
      filled += part;
      isQuoted = endsQuoted(part, isQuoted);
    } else {
      const value = evaluate(part, scope, ROOT);
      filled += isQuoted ? JSON.stringify(asText(value)).slice(1, -1) : JSON.stringify(value ?? null);
    }
  }
  if (filled.trim() === '') return '';
  try {
    JSON.parse(filled);
  } catch (cause) {
    throw invalidField(field, 'is not valid JSON after its values are filled in', { cause });
  }
  return filled;
}

function endsQuoted(text: string, isQuoted: boolean): boolean {
  let inside = isQuoted;
  for (const [token] of text.matchAll(/\\.|"/gs)) if (token === '"') inside = !inside;
  return inside;
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
};

/** A value is text or a part of an attribute: it can neither begin nor end an element. */
function fillXML(field: string, text: string, scope: JsonObject): string {
  let filled = '';
  for (const part of findTemplate(text)?.parts ?? [text]) {
    if (typeof part === 'string') {
      filled += part;
      continue;
    }
    // Nothing is escaped inside these, so no value would be safe there.
    if (/<!--(?:(?!-->).)*$|<!\[CDATA\[(?:(?!\]\]>).)*$|<[?!/]?[^\s>"']*$/s.test(filled))
      throw invalidField(field, 'a value cannot stand in a comment, in CDATA or in the name of a tag');
    filled += asText(evaluate(part, scope, ROOT)).replace(/[&<>"']/g, (character) => entities[character] ?? '');
  }
  return filled;
}

/** A value is one segment or a part of one: it can neither end the segment nor make it `.` or `..`. */
function fillPath(field: string, text: string, scope: JsonObject): string {
  let filled = '';
  for (const part of findTemplate(text)?.parts ?? [text])
    filled += typeof part === 'string' ? part : encodeURIComponent(asText(evaluate(part, scope, ROOT)));
  const [path = ''] = filled.split(/[?#]/);
  // URL parsers treat an encoded dot as a dot.
  if (filled !== text && path.split('/').some((segment) => /^(?:\.|%2e){1,2}$/i.test(segment)))
    throw invalidField(field, 'a value cannot be "." or ".." in the path');
  return filled;
}

/** A value beside other text is one level or a part of one; alone it is a whole topic. It is never a wildcard. */
function fillTopic(field: string, text: string, scope: JsonObject): string {
  const parts = (findTemplate(text)?.parts ?? [text]).filter((part) => part !== '');
  const reserved = parts.length > 1 ? /[/+#]/ : /[+#]/;
  return parts
    .map((part) => {
      if (typeof part === 'string') return part;
      const value = asText(evaluate(part, scope, ROOT));
      if (reserved.test(value))
        throw invalidField(field, 'a value must be one level without wildcards: / + # are not allowed in it');
      return value;
    })
    .join('');
}
