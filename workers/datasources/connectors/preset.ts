import { AppError } from '#shared/core/errors.ts';
import { isJsonObject, type Json, type JsonObject } from '#shared/core/json.ts';
import { invalidField } from '#shared/core/schema/issues.ts';
import { requireValue } from '#shared/core/schema/parse.ts';
import type { BoundQuery } from '#shared/datasources/queries/bind.ts';
import {
  callName,
  isEmpty,
  type PresetBody,
  type PresetCall,
  type PresetDefinition,
} from '#shared/datasources/types/presets/define-preset.ts';
import type { presets } from '#shared/datasources/types/presets/index.ts';
import { restapi } from '#shared/datasources/types/restapi.ts';
import { asText } from '#shared/workflow/templates/expressions.ts';
import type { Connection, ExecuteOptions, QueryResult } from '../../connections/connection.ts';
import type { HTTPResponse } from '../../outbound/fetch.ts';
import { fieldsOf, readBody } from '../http/body.ts';
import { at } from '../http/pages.ts';
import type { Connector, ConnectorContext } from './connector.ts';
import { openAPI } from './restapi.ts';

type AnyPreset = (typeof presets)[number];

/** Connector of a preset: the API of a vendor, described as data. Each call becomes a request of a `restapi` datasource. */
export function presetConnector<D extends AnyPreset>(definition: D): Connector<D> {
  // The options have been parsed by the preset's own schema, which turns JSON into JSON.
  return (options, context) => connectPreset(definition, options as JsonObject, context);
}

/** `baseUrl` replaces the vendor's, in tests. */
export async function connectPreset(
  { preset }: PresetDefinition,
  options: JsonObject,
  { baseUrl = preset.baseUrl, outbound }: Pick<ConnectorContext, 'outbound'> & { baseUrl?: string },
): Promise<Connection<AnyPreset>> {
  const { failure } = preset;
  const fixedHeaders = Object.entries(preset.headers ?? {}).map(([key, value]) => ({ key, value }));
  const headersFromOptions = Object.entries(preset.optionHeaders ?? {})
    .map(([key, field]) => ({ key, value: asText(options[field]) }))
    .filter(({ value }) => value !== '');
  const api = openAPI(
    requireValue(restapi.options, {
      baseUrl: filled(baseUrl, options),
      headers: [...fixedHeaders, ...headersFromOptions],
      ...(preset.auth.as === 'bearer'
        ? { authType: 'bearer', bearerToken: options[preset.auth.token] }
        : { authType: 'basic', username: options[preset.auth.username], password: options[preset.auth.password] }),
    }),
    { outbound, ...(failure && { check: (answer) => mustAgree(answer, failure) }) },
  );

  async function executeRequest(request: JsonObject, run: ExecuteOptions): Promise<QueryResult> {
    const query = requireValue(restapi.query, { retries: 2, contentType: preset.bodyFormat, ...request });
    return await api.execute({ query, statement: null }, run);
  }

  return {
    async test(signal) {
      const apiEndpoint = filled(preset.probe, options);
      await executeRequest({ apiEndpoint }, { signal, maxRows: 1, idempotencyKey: null });
    },
    async execute({ query }: BoundQuery, run) {
      const fields = query as JsonObject;
      const call = preset.calls[callName(fields)];
      if (!call) throw invalidField('operation', `there is no ${callName(fields)}`);
      const request = requestOf(call, { ...fields, ...options });
      if (call.paging) {
        const maxRows = Math.min(run.maxRows, Number(fields[call.paging.wanted]));
        return await executeRequest(paged(request, call, maxRows), { ...run, maxRows });
      }
      // A list inside the answer is cut by `listOf`, so the rows of the answer itself are not limited.
      const result = await executeRequest(
        request,
        call.items === undefined ? run : { ...run, maxRows: Number.POSITIVE_INFINITY },
      );
      return call.items === undefined ? result : listOf(result.data, call.items, run.maxRows);
    },
    [Symbol.asyncDispose]: () => api[Symbol.asyncDispose](),
  };
}

interface Request extends JsonObject {
  queryParams: { key: string; value: Json }[];
}

function requestOf(call: PresetCall, fields: JsonObject): Request {
  const params = Object.entries(call.params ?? {}).map(([key, field]) => ({ key, value: fields[field] ?? null }));
  const filters = call.filters === undefined ? [] : fieldsOf(fields[call.filters] ?? {});
  return {
    apiEndpoint: filled(call.path, fields),
    method: call.method,
    headers: Object.entries(call.headers ?? {}).map(([key, value]) => ({ key, value })),
    queryParams: [
      ...params
        .filter(({ value }) => !isEmpty(value))
        .map(({ key, value }) => ({ key: Array.isArray(value) ? `${key}[]` : key, value })),
      ...filters.map(([key, value]) => ({ key, value })),
    ],
    ...(call.body !== undefined && { body: bodyOf(call.body, fields) }),
  };
}

/** The request for the first page, with the pagination that finds the next. */
function paged(request: Request, { paging, items = '' }: PresetCall, maxRows: number): JsonObject {
  if (!paging) return request;
  const pageSize = Math.min(maxRows, paging.maxPageSize);
  const { by, size } = paging;
  if (by.type === 'offset') return { ...request, pagination: { ...by, limitParam: size, pageSize, itemsPath: items } };
  const pagination = { ...by, itemsPath: items };
  if (by.type === 'cursor' && by.cursorIn === 'body')
    return { ...request, pagination, body: { ...(isJsonObject(request.body) && request.body), [size]: pageSize } };
  return { ...request, pagination, queryParams: [...request.queryParams, { key: size, value: pageSize }] };
}

function bodyOf(body: PresetBody | string, fields: JsonObject): Json {
  if (typeof body === 'string') return fields[body] ?? null;
  const entries = Object.entries(body).map(([name, from]): [string, Json] => [name, bodyOf(from, fields)]);
  return Object.fromEntries(entries.filter(([, value]) => !isEmpty(value)));
}

/** Replaces each `{name}` with the field of that name, encoded as one path segment. */
function filled(text: string, fields: JsonObject): string {
  return text.replace(/\{(\w+)\}/g, (_all, name: string) => encodeURIComponent(asText(fields[name])));
}

/** Throws for a failure that the API reports with status 200. */
async function mustAgree(answer: HTTPResponse, { ok, message }: { ok: string; message: string }): Promise<void> {
  const said = await readBody(answer);
  if (!isJsonObject(said) || said[ok] !== false) return;
  const code = asText(said[message]).slice(0, 200);
  throw new AppError('UPSTREAM_FAILED', `The API refuses: ${code}`, { retry: false, details: { code } });
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
