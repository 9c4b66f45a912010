import { callName, type PresetCall, type PresetDefinition } from '#shared/datasources/presets/define-preset.ts';
import type { presets } from '#shared/datasources/presets/index.ts';
import { restapi } from '#shared/datasources/restapi.ts';
import { AppError } from '#shared/errors.ts';
import { isJsonObject, type Json, type JsonObject } from '#shared/json.ts';
import type { BoundQuery } from '#shared/queries/bind.ts';
import { written } from '#shared/workflow/templates.ts';
import type { Connection, Connector, ConnectorContext, QueryResult, QueryRun } from '../define.ts';
import { at } from '../http/pages.ts';
import { connectRestapi } from './restapi.ts';

type AnyPreset = (typeof presets)[number];

/** An API that is only data: its calls become requests of the REST type. */
export function presetConnector<D extends AnyPreset>(definition: D): Connector<D> {
  // The options have been parsed by the preset's own schema, and what JSON brought is JSON still.
  return (options, context) => connectPreset(definition, options as JsonObject, context);
}

/** `baseUrl` stands in for the vendor's. */
export async function connectPreset(
  { preset }: PresetDefinition,
  options: JsonObject,
  { baseUrl = preset.baseUrl, ...context }: ConnectorContext & { baseUrl?: string },
): Promise<Connection<AnyPreset>> {
  const own = Object.entries(preset.headers ?? {}).map(([key, value]) => ({ key, value }));
  const chosen = Object.entries(preset.optionHeaders ?? {})
    .map(([key, field]) => ({ key, value: written(options[field]) }))
    .filter(({ value }) => value !== '');
  const api = await connectRestapi(
    restapi.options.parse({
      baseUrl: filled(baseUrl, options),
      headers: [...own, ...chosen],
      ...(preset.auth.as === 'bearer'
        ? { authType: 'bearer', bearerToken: options[preset.auth.token] }
        : { authType: 'basic', username: options[preset.auth.username], password: options[preset.auth.password] }),
    }),
    context,
  );

  async function ask(request: JsonObject, run: QueryRun): Promise<QueryResult> {
    const query = restapi.query.parse({ retries: 2, contentType: preset.bodyFormat, ...request });
    const result = await api.run({ query, statement: null }, run);
    const { refusal } = preset;
    if (refusal && isJsonObject(result.data) && result.data[refusal.ok] === false)
      throw new AppError('UPSTREAM_FAILED', `The API refuses: ${written(result.data[refusal.message]).slice(0, 200)}`, {
        retry: false,
      });
    return result;
  }

  return {
    async test(signal) {
      // Airtable has nothing that every token may read: there the base itself must answer at all.
      if (preset.probe === '') return await api.test(signal);
      await ask({ apiEndpoint: preset.probe }, { signal, maxRows: 1, idempotencyKey: null });
    },
    async run({ query }: BoundQuery, run) {
      const fields = query as JsonObject;
      const call = preset.calls[callName(fields)];
      if (!call) throw new AppError('VALIDATION_ERROR', `operation: there is no ${callName(fields)}`);
      const result = await ask(requestOf(call, fields), run);
      return call.items === undefined ? result : listOf(result.data, call.items, run.maxRows);
    },
    [Symbol.asyncDispose]: () => api[Symbol.asyncDispose](),
  };
}

function requestOf(call: PresetCall, fields: JsonObject): JsonObject {
  const params = Object.entries(call.params ?? {}).map(([key, field]) => ({ key, value: fields[field] ?? null }));
  return {
    apiEndpoint: filled(call.path, fields),
    method: call.method,
    queryParams: params
      .filter(({ value }) => !isEmpty(value))
      .map(({ key, value }) => ({ key: Array.isArray(value) ? `${key}[]` : key, value })),
    ...(call.body !== undefined && { body: bodyOf(call.body, fields) }),
  };
}

function bodyOf(body: NonNullable<PresetCall['body']>, fields: JsonObject): Json {
  if (typeof body === 'string') return fields[body] ?? null;
  const entries = Object.entries(body).map(([name, field]): [string, Json] => [name, fields[field] ?? null]);
  return Object.fromEntries(entries.filter(([, value]) => !isEmpty(value)));
}

/** What was left out by whoever asks is left out of the request. */
function isEmpty(value: Json): boolean {
  if (Array.isArray(value)) return value.length === 0;
  return value === null || value === '' || (isJsonObject(value) && Object.keys(value).length === 0);
}

/** `{name}` becomes one segment, whatever is in it. */
function filled(text: string, fields: JsonObject): string {
  return text.replace(/\{(\w+)\}/g, (_all, name: string) => encodeURIComponent(written(fields[name])));
}

function listOf(data: Json, path: string, maxRows: number): QueryResult {
  const items = at(data, path);
  if (!Array.isArray(items)) throw new AppError('UPSTREAM_FAILED', 'The API answers without the list it was asked for');
  return {
    data: items.slice(0, maxRows),
    rowCount: Math.min(items.length, maxRows),
    truncated: items.length > maxRows,
  };
}
