import { schemaOf } from '../openapi-parts.ts';
import type { Operation, Schema } from '../openapi-types.ts';
import { resolve } from './schema-view.ts';

type Schemas = Record<string, Schema>;

/** A command for a shell in which the path's ids and TOKEN are set; the page puts its own origin in. */
export function curlFor(
  method: string,
  path: string,
  { operation, schemas }: { operation: Operation; schemas: Schemas },
): string {
  const url = `http://localhost:8080${path.replace(/\{(\w+)\}/g, '$$$1')}`;
  const lines = [method === 'get' ? `curl "${url}"` : `curl -X ${method.toUpperCase()} "${url}"`];
  if (operation.security.length > 0) lines.push('-H "Authorization: Bearer $TOKEN"');
  if (operation.requestBody?.content['multipart/form-data']) lines.push("-F 'file=@image.png'");
  else if (operation.requestBody) {
    const body = exampleOf(schemaOf(operation.requestBody.content), schemas);
    lines.push("-H 'content-type: application/json'", `-d '${JSON.stringify(body).replaceAll("'", "'\\''")}'`);
  }
  return lines.join(' \\\n  ');
}

const samples: Record<string, string> = {
  uuid: '018f3c1e-7c1a-7b3a-9b1e-2f4d5c6b7a89',
  'date-time': '2030-01-31T12:00:00Z',
  email: 'you@example.com',
  uri: 'https://example.com/',
};

/** Something the schema takes, as small as it may be. */
export function exampleOf(schema: Schema, schemas: Schemas, depth = 0): unknown {
  const shape = resolve(schema, schemas);
  if (shape.default !== undefined) return shape.default;
  if (shape.const !== undefined) return shape.const;
  if (shape.enum) return shape.enum[0];
  const choice = (shape.anyOf ?? shape.oneOf)?.[0];
  // Schemas may refer to themselves.
  if (choice) return depth < deepest ? exampleOf(choice, schemas, depth + 1) : null;
  const type = Array.isArray(shape.type) ? shape.type[0] : shape.type;
  return (
    byType[type ?? 'object']?.(shape, (inner) => (depth < deepest ? exampleOf(inner, schemas, depth + 1) : null)) ??
    null
  );
}

const deepest = 5;

const byType: Record<string, (shape: Schema, below: (schema: Schema) => unknown) => unknown> = {
  string: ({ format = '' }) => samples[format] ?? 'text',
  integer: ({ minimum = 1 }) => minimum,
  number: ({ minimum = 1 }) => minimum,
  boolean: () => true,
  array: ({ items }, below) => (items ? [below(items)] : []),
  object: ({ properties = {}, required = [] }, below) => {
    const fields = Object.entries(properties);
    const needed = fields.filter(([name]) => required.includes(name));
    // Where nothing is needed, the first field shows the way.
    const shown = needed.length > 0 ? needed : fields.slice(0, 1);
    return Object.fromEntries(shown.map(([name, field]) => [name, below(field)]));
  },
};
