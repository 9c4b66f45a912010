/** The rules of clients of models for the schema of a tool's input. */
import type { Schema } from '#api/http/openapi/types.ts';

export interface Dialect {
  name: string;
  /** The faults of a schema, each with the path to it. */
  faultsOf(schema: Schema): string[];
}

interface Rules {
  /** Keywords that are known, each with what its value must be. */
  keywords: Readonly<Record<string, (value: unknown) => boolean>>;
  formats?: readonly string[];
  maxLevels?: number;
  /** Faults of a schema as a whole. */
  others(schema: Schema, isRoot: boolean): readonly (string | false)[];
}

const isText = (value: unknown) => typeof value === 'string';
const isNumber = (value: unknown) => typeof value === 'number';
const isFlag = (value: unknown) => typeof value === 'boolean';
const isCount = (value: unknown) => Number.isInteger(value) && Number(value) >= 0;
const isList = (value: unknown) => Array.isArray(value);
const isTexts = (value: unknown) =>
  Array.isArray(value) && value.every((each) => typeof each === 'string') && new Set(value).size === value.length;
const isSchema = (value: unknown) => typeof value === 'boolean' || isMap(value);
const isMap = (value: unknown) => typeof value === 'object' && value !== null && !Array.isArray(value);
const isSchemas = (value: unknown) => Array.isArray(value) && value.length > 0 && value.every(isSchema);
const isAnything = () => true;

const types = ['string', 'number', 'integer', 'boolean', 'object', 'array'];
const isType = (value: unknown) => types.includes(value as string);

const common = {
  type: isType,
  title: isText,
  description: isText,
  format: isText,
  enum: isTexts,
  properties: isMap,
  required: isTexts,
  items: isMap,
  anyOf: isSchemas,
  minimum: isNumber,
  maximum: isNumber,
  minItems: isCount,
  maxItems: isCount,
  pattern: isText,
};

/** The subset of OpenAPI 3.0 that Gemini takes as `parameters` of a function. */
const gemini: Rules = {
  keywords: {
    ...common,
    nullable: isFlag,
    default: isAnything,
    example: isAnything,
    minLength: isCount,
    maxLength: isCount,
    minProperties: isCount,
    maxProperties: isCount,
    propertyOrdering: isTexts,
  },
  formats: ['date-time', 'enum', 'int32', 'int64', 'float', 'double'],
  others: (schema) => [
    schema.type === undefined && schema.anyOf === undefined && 'has no type',
    schema.type === 'array' && schema.items === undefined && 'a list without items',
    schema.enum !== undefined && schema.type !== 'string' && 'an enum that is no text',
    schema.enum?.includes('') === true && 'an empty text in an enum',
  ],
};

/**
 * The subset of JSON Schema of functions with `strict`. Clients set `additionalProperties: false` and make every field required
 * themselves, which they can do if neither is decided otherwise.
 */
const strict: Rules = {
  keywords: {
    ...common,
    multipleOf: isNumber,
    exclusiveMinimum: isNumber,
    exclusiveMaximum: isNumber,
    additionalProperties: (value) => value === false,
  },
  formats: ['date-time', 'time', 'date', 'duration', 'email', 'hostname', 'ipv4', 'ipv6', 'uuid'],
  maxLevels: 10,
  others: (schema, isRoot) => [
    isRoot && schema.type !== 'object' && 'the root is no object',
    isRoot && schema.anyOf !== undefined && 'alternatives at the root',
    isRoot && JSON.stringify(schema).length > 120_000 && 'more than 120,000 characters',
    schema.type === undefined && schema.anyOf === undefined && 'has no type',
    (schema.enum?.length ?? 0) > 1_000 && 'more than 1,000 values',
  ],
};

/** The types of the keywords by the meta-schema of 2020-12, and that what is required is declared. */
const draft2020: Rules = {
  keywords: {
    ...common,
    type: (value) => [value].flat().every((each) => isType(each) || each === 'null'),
    enum: isList,
    items: isSchema,
    $ref: isText,
    $defs: isMap,
    $schema: isText,
    const: isAnything,
    default: isAnything,
    examples: isList,
    deprecated: isFlag,
    oneOf: isSchemas,
    allOf: isSchemas,
    not: isSchema,
    prefixItems: isSchemas,
    propertyNames: isSchema,
    patternProperties: isMap,
    additionalProperties: isSchema,
    exclusiveMinimum: isNumber,
    exclusiveMaximum: isNumber,
    multipleOf: (value) => isNumber(value) && Number(value) > 0,
    minLength: isCount,
    maxLength: isCount,
    minProperties: isCount,
    maxProperties: isCount,
    uniqueItems: isFlag,
    contentEncoding: isText,
    contentMediaType: isText,
  },
  others: ({ required = [], properties = {} }) =>
    required.map((name) => !Object.hasOwn(properties, name) && `requires ${name}, which it does not declare`),
};

export const dialects: readonly Dialect[] = [
  { name: 'Gemini', faultsOf: (schema) => [...faults(schema, gemini)] },
  { name: 'OpenAI strict', faultsOf: (schema) => [...faults(schema, strict)] },
  { name: 'JSON Schema 2020-12', faultsOf: (schema) => [...faults(schema, draft2020)] },
];

const inMaps = ['properties', '$defs', 'patternProperties'];
const inLists = ['anyOf', 'oneOf', 'allOf', 'prefixItems'];
const single = ['items', 'additionalProperties', 'not', 'propertyNames'];

function* faults(schema: Schema, rules: Rules, path = '', level = 0): Generator<string> {
  const at = path || '(root)';
  yield* Object.entries(schema).flatMap(([keyword, value]) => faultOfKeyword(rules, keyword, value, at));
  if (schema.format && rules.formats && !rules.formats.includes(schema.format)) yield `${at}: format ${schema.format}`;
  for (const other of rules.others(schema, path === '')) if (other) yield `${at}: ${other}`;
  if (level > (rules.maxLevels ?? Infinity)) yield `${at}: more than ${rules.maxLevels} levels`;
  for (const [step, inner] of partsOf(schema)) yield* faults(inner, rules, `${path}/${step}`, level + 1);
}

function faultOfKeyword({ keywords }: Rules, keyword: string, value: unknown, at: string): string[] {
  if (!Object.hasOwn(keywords, keyword)) return [`${at}: ${keyword}`];
  return keywords[keyword]?.(value) ? [] : [`${at}: ${keyword} ${JSON.stringify(value)?.slice(0, 60)}`];
}

function* partsOf(schema: Schema): Generator<readonly [string, Schema]> {
  for (const keyword of inMaps)
    for (const [name, inner] of Object.entries((schema[keyword] ?? {}) as Record<string, Schema>))
      yield [`${keyword}/${name}`, inner];
  for (const keyword of inLists)
    for (const [index, inner] of ((schema[keyword] ?? []) as Schema[]).entries()) yield [`${keyword}/${index}`, inner];
  for (const keyword of single) {
    const inner = schema[keyword];
    if (typeof inner === 'object' && inner !== null) yield [keyword, inner as Schema];
  }
}
