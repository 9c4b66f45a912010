import { registerHooks } from 'node:module';
import type { OpenAPI, Operation, Schema } from '#api/http/openapi/types.ts';
import type { AsyncAPI } from '#api/realtime/describe-events.ts';

/** The files of `ops/client` that are made of the OpenAPI and the AsyncAPI document. */
export async function clientFiles(rest: OpenAPI, events: AsyncAPI): Promise<Record<string, string>> {
  return {
    'rest.ts': await clientTypes(rest),
    'operations.ts': operationTable(rest),
    'events.ts': await eventTypes(events),
  };
}

/** The types of REST as `openapi-fetch` reads them. */
async function clientTypes(document: OpenAPI): Promise<string> {
  return `/** Written by \`npm run openapi\` from ops/openapi.json. */\n${await typesOf(document)}`;
}

/** The part of each operation that a client needs at run time. */
function operationTable({ paths, components }: OpenAPI): string {
  const lines = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => {
      const items = itemsOf(operation, components.schemas);
      const answers = answerOf(operation);
      const entry = {
        method,
        path,
        ...(takesKey(operation) && { takesKey: true }),
        ...(answers !== 'json' && { answers }),
        ...(items && { items }),
      };
      return `  ${operation.operationId}: ${JSON.stringify(entry)},`;
    }),
  );
  return [
    '/** Written by `npm run openapi` from ops/openapi.json. */',
    'export const operations = {',
    ...lines,
    '} as const;',
    '',
  ].join('\n');
}

/** The messages of sockets, and the functions that send and receive them as `socket.io-client` declares them. */
async function eventTypes({ operations, components }: AsyncAPI): Promise<string> {
  const names = Object.keys(operations);
  const sent = names.filter((name) => name.startsWith('send_')).map((name) => name.slice('send_'.length));
  const received = names.filter((name) => name.startsWith('receive_')).map((name) => name.slice('receive_'.length));
  const shape = (name: string) => `components["schemas"]["${name}"]`;
  return [
    '/** Written by `npm run openapi` from ops/asyncapi.json. */',
    await typesOf({ openapi: '3.1.0', info: { title: '', version: '' }, paths: {}, components }),
    '/** What the server sends, by its event. */',
    'export interface ServerEvents {',
    ...sent.map((name) => `    ${name}: (message: ${shape(name)}) => void;`),
    '}',
    '',
    '/** What a client sends, with the acknowledgement that it may ask for. */',
    'export interface ClientEvents {',
    ...received.map(
      (name) =>
        `    ${name}: (message: ${shape(name)}, answered?: (answer: ${shape(`${name}_answer`)} | ${shape('failure')}) => void) => void;`,
    ),
    '}',
    '',
  ].join('\n');
}

/** openapi-typescript calls TypeScript's API, which version 7, our compiler, does not have. */
async function typesOf(document: object): Promise<string> {
  const hooks = registerHooks({
    resolve: (specifier, context, next) => next(specifier === 'typescript' ? 'typescript5' : specifier, context),
  });
  try {
    const { astToString, default: generate } = await import('openapi-typescript');
    // A copy, since the generator resolves references in place.
    return astToString(await generate(structuredClone(document) as never, { defaultNonNullable: false }));
  } finally {
    hooks.deregister();
  }
}

function takesKey({ parameters = [] }: Operation): boolean {
  return parameters.some((parameter) => 'name' in parameter && parameter.name === 'Idempotency-Key');
}

function answerOf({ responses }: Operation): 'json' | 'blob' | 'stream' | 'location' {
  const [[status, answer] = ['', {}]] = Object.entries(responses).filter(([code]) => /^[23]/.test(code));
  if (status.startsWith('3')) return 'location';
  const content = 'content' in answer && answer.content ? answer.content : {};
  if ('text/event-stream' in content) return 'stream';
  return 'application/json' in content ? 'json' : 'blob';
}

/** The field with the rows of a page, for lists that go on at `nextCursor`. */
function itemsOf({ parameters = [], responses }: Operation, schemas: Record<string, Schema>): string | undefined {
  if (!parameters.some((parameter) => 'name' in parameter && parameter.name === 'cursor')) return undefined;
  const ok = responses['200'];
  const answer = ok && 'content' in ok ? ok.content?.['application/json']?.schema : undefined;
  const fields = answer && fieldsOf(answer, schemas);
  if (!fields?.nextCursor) return undefined;
  const lists = Object.keys(fields).filter((name) => name !== 'unknownFields' && fields[name]?.type === 'array');
  return lists.length === 1 ? lists[0] : undefined;
}

function fieldsOf(schema: Schema, schemas: Record<string, Schema>): Record<string, Schema> {
  const named = typeof schema.$ref === 'string' ? schemas[schema.$ref.split('/').at(-1) ?? ''] : schema;
  const parts = (named?.allOf ?? []) as Schema[];
  return Object.assign({}, ...parts.map((part) => fieldsOf(part, schemas)), named?.properties);
}
