import { expect, test } from 'vitest';
import { z } from 'zod';
import type { DatasourceDefinition } from '#shared/datasources/types/define-datasource.ts';
import { datasources } from '#shared/datasources/types/index.ts';
import { presets } from '#shared/datasources/types/presets/index.ts';

/** Texts of queries that are in no language: a template in them is replaced by its value. All others are in `templates`. */
const plain: Record<string, string> = {
  redis: 'key value pattern field channel streamId start stop',
  smtp: 'to cc bcc replyTo subject text html',
  excelcsv: 'sheetName range',
  nats: 'subject payload',
  rabbitmq: 'queue exchange routingKey message',
  mqtt: 'message',
  graphql: 'operationName',
  s3: 'bucket prefix startAfter key body contentType',
};

interface Schema {
  type?: string;
  enum?: unknown;
  const?: unknown;
  properties?: Record<string, Schema>;
  anyOf?: Schema[];
  oneOf?: Schema[];
}

/** A text, or a value of any type, which may be a text. */
function isText({ type, enum: words, const: word, anyOf, oneOf }: Schema): boolean {
  const options = [...(anyOf ?? []), ...(oneOf ?? [])];
  if (options.length > 0) return options.some(isText);
  return (type === undefined || type === 'string') && words === undefined && word === undefined;
}

const presetTypes = new Set<string>(presets.map(({ type }) => type));
const types: readonly DatasourceDefinition[] = datasources.filter(({ type }) => !presetTypes.has(type));

test.each(types.map((definition) => [definition.type, definition] as const))(
  'the texts of a %s query are in `templates`, or are named above as plain',
  (type, { query, templates }) => {
    const schema = z.toJSONSchema(query, { io: 'input', unrepresentable: 'any' }) as Schema;
    const fields = [schema, ...(schema.oneOf ?? [])].flatMap(({ properties = {} }) => Object.entries(properties));
    const texts = fields.filter(([, field]) => isText(field)).map(([name]) => name);

    const others = [...new Set(texts)].filter((name) => !Object.hasOwn(templates, name));
    expect(others).toEqual(plain[type]?.split(' ') ?? []);
  },
);
