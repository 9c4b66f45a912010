import { PREFIX } from '../http/openapi/components.ts';
import type { Schema } from '../http/openapi/types.ts';

/**
 * Ends the description of a field that takes any JSON value. Models that are held to the schema can send a text only, so a
 * text may say that JSON follows.
 */
export const ANY_JSON = 'Text as it is, other JSON after `json:`, such as json:42';

type Schemas = Readonly<Record<string, Schema>>;

interface Described {
  schemas: Schemas;
  /** The name of the field, which often says what its id names. */
  name?: string;
  /** Whether the value is sent as text, as arguments of the path and the query are. */
  isText?: boolean;
  /** The fields for which `isText` holds. */
  texts?: readonly string[];
}

/**
 * The same form in the part of JSON Schema that all clients of models take: typed fields without references, alternatives,
 * `null` or constants, and no keyword that a client might refuse. What such a schema cannot say is said in the description. It is
 * for models; the route checks the arguments by its own schema, which is more exact.
 */
export function plainSchema(schema: Schema, schemas: Schemas, texts: readonly string[] = []): Schema {
  return { properties: {}, ...plain(schema, { schemas, texts }) };
}

function plain(given: Schema, field: Described): Schema {
  const schema = resolved(given, field.schemas);
  const options = alternativesOf(schema, field.schemas);
  const isNullable = options.some(({ type }) => type === 'null');
  const typed = options.filter(({ type }) => type !== 'null');
  const made = typed.map((option) => plainOf(option, field));
  const [first = { type: 'string' }] = made;
  const { description: ofType, ...rest } = made.length > 1 ? merged(made, field) : first;
  const description = joined([
    schema.description ?? schema.title ?? typed[0]?.description,
    idNote(typed, field.name),
    boundNote(schema),
    defaultNote(schema.default),
    isNullable ? 'May be null' : undefined,
    ofType,
    isAny(schema) && !field.isText ? ANY_JSON : undefined,
  ]);
  return { ...rest, ...(description && { description }) };
}

/** Follows references; what stands beside a reference counts more. */
function resolved(schema: Schema, schemas: Schemas): Schema {
  if (schema.$ref === undefined) return schema;
  const { $ref, ...beside } = schema;
  return { ...resolved(schemas[$ref.slice(PREFIX.length)] ?? {}, schemas), ...beside };
}

/** A schema for each of the types that a value may have. */
function alternativesOf(schema: Schema, schemas: Schemas): Schema[] {
  const { anyOf, oneOf, type } = schema;
  const among = anyOf ?? oneOf;
  if (among) return among.flatMap((option) => alternativesOf(resolved(option, schemas), schemas));
  if (Array.isArray(type)) return type.map((each) => ({ ...schema, type: each }));
  return [schema];
}

/** One type, without what {@link plain} says about the field. */
function plainOf(schema: Schema, field: Described): Schema {
  const { type } = schema;
  if (type === 'object') return plainObject(schema, field);
  if (type === 'array') return { type, items: plain(itemOf(schema), { schemas: field.schemas }) };
  if (type === 'integer' || type === 'number') return { type, ...limitsOf(schema) };
  if (type === 'boolean') return { type };
  const values = 'const' in schema ? [schema.const] : (schema.enum ?? []);
  const texts = values.filter((value) => typeof value === 'string' && value !== '');
  return {
    type: 'string',
    ...(texts.length > 0 && texts.length === values.length && { enum: texts }),
    ...(schema.format === 'date-time' && { format: 'date-time' }),
  };
}

function itemOf({ items, prefixItems }: Schema): Schema {
  return items ?? (prefixItems as Schema[] | undefined)?.[0] ?? {};
}

function limitsOf({ minimum, maximum, const: only }: Schema): Schema {
  if (typeof only === 'number') return { minimum: only, maximum: only };
  return { ...(minimum !== undefined && { minimum }), ...(maximum !== undefined && { maximum }) };
}

function plainObject({ properties = {}, required = [], additionalProperties }: Schema, field: Described): Schema {
  const { schemas, texts = [] } = field;
  const shown = Object.entries(properties).filter(
    ([name, inner]) => !('not' in inner) && (inner.deprecated !== true || required.includes(name)),
  );
  const plainFields = shown.map(
    ([name, inner]) => [name, plain(inner, { schemas, name, isText: texts.includes(name) })] as const,
  );
  const needed = required.filter((name) => properties[name] && !('not' in properties[name]));
  const values = typeof additionalProperties === 'object' ? resolved(additionalProperties, schemas) : {};
  const what = isAny(values) ? undefined : summaryOf(plain(values, { schemas }));
  return {
    type: 'object',
    ...(plainFields.length > 0 && { properties: Object.fromEntries(plainFields) }),
    ...(needed.length > 0 && { required: needed }),
    ...(what && { description: `Each value: ${what}` }),
  };
}

/** A schema that says nothing about its value. */
function isAny({ type, anyOf, oneOf, enum: values, const: only, $ref }: Schema): boolean {
  return [type, anyOf, oneOf, values, only, $ref].every((said) => said === undefined);
}

/** One type for alternatives: texts and objects are joined, a list takes a single item too, and all else is a text. */
function merged(options: readonly Schema[], field: Described): Schema {
  const types = new Set(options.map(({ type }) => type));
  const described = joined(options.map(({ description }) => description));
  const description = described ? { description: described } : {};
  const list = options.find(({ type }) => type === 'array');
  if (types.size === 1 && types.has('string')) return { ...mergedTexts(options), ...description };
  if (types.size === 1 && types.has('object')) return { ...mergedObjects(options), ...description };
  if (types.size === 1) return { ...options[0], ...description };
  if (list && options.every(({ type }) => type === 'array' || type === list.items?.type)) return list;
  if ([...types].every((type) => type === 'integer' || type === 'number')) return { type: 'number', ...description };
  const kinds = options.map((option) => summaryOf(option)).join(', or ');
  return field.isText ? { type: 'string' } : { type: 'string', description: joined([upper(kinds), ANY_JSON]) };
}

function mergedTexts(options: readonly Schema[]): Schema {
  const known = options.flatMap((option) => option.enum ?? []);
  if (options.every((option) => option.enum)) return { type: 'string', enum: [...new Set(known)] };
  return { type: 'string', ...(known.length > 0 && { description: `${quoted(known)}, or another text` }) };
}

function mergedObjects(options: readonly Schema[]): Schema {
  const needed = options
    .map(({ required = [] }) => required)
    .reduce((all, some) => all.filter((name) => some.includes(name)));
  const properties = Object.assign({}, ...options.map((option) => option.properties ?? {}));
  return {
    type: 'object',
    ...(Object.keys(properties).length > 0 && { properties }),
    ...(needed.length > 0 && { required: needed }),
  };
}

function summaryOf({ type, enum: values, properties, items }: Schema): string {
  if (values) return quoted(values);
  if (type === 'object' && properties) return `an object with ${quoted(Object.keys(properties))}`;
  if (type === 'array' && items) return `a list, each ${summaryOf(items)}`;
  return { string: 'a text', object: 'an object', boolean: 'true or false' }[String(type)] ?? 'a number';
}

function idNote(options: readonly Schema[], name = ''): string | undefined {
  const reference = options.map((option) => option['x-reference']).find((types) => types !== undefined);
  if (reference === undefined) return undefined;
  const types = [reference].flat().map(String);
  if (types.length === 1 && types[0]?.toLowerCase() === name.toLowerCase().replace(/ids?$/, '')) return undefined;
  return `Id of: ${types.join(', ')}`;
}

function boundNote({ exclusiveMinimum }: Schema): string | undefined {
  return exclusiveMinimum === undefined ? undefined : `More than ${exclusiveMinimum}`;
}

function defaultNote(value: unknown): string | undefined {
  if (value === undefined || value === null || value === '') return undefined;
  const text = JSON.stringify(value);
  return text === '{}' || text === '[]' || text.length > 80 ? undefined : `Default: ${text}`;
}

function joined(notes: readonly (string | undefined)[]): string {
  const said = notes.filter((note) => note !== undefined && note !== '').map((note) => note?.replace(/\.$/, ''));
  return [...new Set(said)].join('. ');
}

function quoted(values: readonly unknown[]): string {
  return values.map((value) => `\`${String(value)}\``).join(', ');
}

function upper(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
