import { expect, test } from 'vitest';
import { z } from 'zod';
import { datasources } from '#shared/datasources/types/index.ts';

/** Option texts that every reader of the datasource sees. All others are secrets, which are encrypted and masked. */
const plain =
  `accessKeyId accountSid allowedSources apiKey.name apiVersion applicationName authHeaderName baseId baseUrl brokerUrl bucket caCertificate
  clientId connectionName database email endpoint fileName filePath fileType fileUrl files.*.name from handshakeAnswer handshakeField
  handshakeTokenField headerName
  headers.*.key host oauthConnectionID publicUrl queryParams.*.key region scope servers signatureHeader signaturePrefix signedContent
  subscriptionEndpoint timestampHeader tokenUrl url user username vhost`.split(/\s+/);

interface Schema {
  type?: string;
  enum?: unknown;
  const?: unknown;
  'x-secret'?: true;
  properties?: Record<string, Schema>;
  items?: Schema;
  additionalProperties?: Schema | boolean;
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
}

function textsIn(schema: Schema, path: string): string[] {
  if (schema['x-secret']) return [];
  const { properties = {}, items, additionalProperties: more, anyOf = [], oneOf = [], allOf = [] } = schema;
  const isText = schema.type === 'string' && schema.enum === undefined && schema.const === undefined;
  return [
    ...(isText ? [path] : []),
    ...[...anyOf, ...oneOf, ...allOf].flatMap((option) => textsIn(option, path)),
    ...Object.entries(properties).flatMap(([key, child]) => textsIn(child, `${path}.${key}`)),
    ...(items ? textsIn(items, `${path}.*`) : []),
    ...(typeof more === 'object' ? textsIn(more, `${path}.{}`) : []),
  ];
}

test.each(datasources.map(({ type, options }) => [type, options] as const))(
  'every text in the options of %s is declared a secret, or listed above',
  (_type, options) => {
    const schema = z.toJSONSchema(options, { io: 'input', unrepresentable: 'any' }) as Schema;
    const open = textsIn(schema, '').filter((path) => !plain.some((name) => path.endsWith(`.${name}`)));

    expect(open).toEqual([]);
  },
);

test('every text listed above belongs to some type', () => {
  const paths = datasources.flatMap(({ options }) =>
    textsIn(z.toJSONSchema(options, { io: 'input', unrepresentable: 'any' }) as Schema, ''),
  );
  expect(plain.filter((name) => !paths.some((path) => path.endsWith(`.${name}`)))).toEqual([]);
});
