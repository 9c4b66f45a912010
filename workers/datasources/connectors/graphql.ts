import { GraphQLError, type OperationDefinitionNode, parse } from 'graphql';
import type { z } from 'zod';
import { AppError } from '#shared/core/errors.ts';
import { isJsonObject, type Json, type JsonObject } from '#shared/core/json.ts';
import { invalidField } from '#shared/core/schema/issues.ts';
import type { graphql } from '#shared/datasources/types/graphql.ts';
import type { DatasourceItem } from '../../connections/connection.ts';
import { createOutboundFetch, type HTTPResponse, whereOf } from '../../outbound/fetch.ts';
import { headersOf } from '../../outbound/headers.ts';
import { upstreamError } from '../../outbound/upstream-error.ts';
import { basic, bearer, type Credentials, inHeader, nothing } from '../http/auth.ts';
import { readBody } from '../http/body.ts';
import { at } from '../http/pages.ts';
import { maskIn, statusError } from '../http/status.ts';
import type { Connector } from './connector.ts';

type Options = z.output<typeof graphql.options>;
type Query = z.output<typeof graphql.query>;

/** Connects to one endpoint; all calls reuse its connections. */
export const connectGraphql: Connector<typeof graphql> = (options, { outbound }) => {
  const fetch = createOutboundFetch(outbound, { sslVerify: options.sslVerify });
  const url = new URL(options.endpoint);
  const credentials = credentialsOf(options);
  const secrets = [...credentials.secrets, ...options.headers.map(({ value }) => value)];

  async function sendOperation(
    body: string,
    signal: AbortSignal,
    extraHeaders: Record<string, string> = {},
  ): Promise<Json> {
    const timeout = AbortSignal.timeout(options.timeout * 1000);
    const headers = {
      accept: 'application/graphql-response+json, application/json',
      'content-type': 'application/json',
      ...extraHeaders,
      ...headersOf(options.headers),
      ...credentials.headers,
    };
    const request = { url, method: 'POST', headers, body };
    const response = await fetch(request, AbortSignal.any([signal, timeout])).catch((error: unknown) => {
      throw timeout.aborted && !signal.aborted ? upstreamError('timeout', whereOf(url), error) : error;
    });
    return dataOf(response);
  }

  async function dataOf(response: HTTPResponse): Promise<Json> {
    if (response.status === 401) throw upstreamError('authentication', whereOf(url));
    const isGraphQL = /[/+]json\b/.test(response.headers['content-type'] ?? '');
    if (!isGraphQL) throw response.status >= 400 ? statusError(response, secrets) : notGraphQL();
    const answer = await readBody(response, 'json');
    // A server may send errors with status 400: these say more than the status.
    const errors = at(answer, 'errors');
    if (Array.isArray(errors) && errors.length > 0) throw answeredErrors(errors, secrets);
    if (response.status >= 400) throw statusError(response, secrets);
    const data = at(answer, 'data');
    if (data === undefined) throw notGraphQL();
    return data;
  }

  function notGraphQL(): AppError {
    return new AppError('UPSTREAM_FAILED', `What ${whereOf(url)} answers is not GraphQL`, { retry: false });
  }

  return {
    async test(signal) {
      await sendOperation(JSON.stringify({ query: '{ __typename }' }), signal);
    },
    async execute({ query }, { signal, idempotencyKey }) {
      checkOperation(query);
      const isKeyed = query.operationType === 'mutation' && idempotencyKey !== null;
      const data = await sendOperation(
        operationOf(query),
        signal,
        isKeyed ? { 'idempotency-key': encodeURIComponent(idempotencyKey) } : {},
      );
      return { data };
    },
    async browse(path, signal) {
      const schema = await sendOperation(JSON.stringify({ query: INTROSPECTION }), signal);
      return path.length === 0 ? rootsOf(schema) : fieldsOf(schema, path);
    },
    [Symbol.asyncDispose]: () => fetch[Symbol.asyncDispose](),
  };
};

export function credentialsOf({ authType, bearerToken, apiKey, basicAuth }: Options): Credentials {
  if (authType === 'bearer') return bearer(bearerToken);
  if (authType === 'apiKey') return inHeader(apiKey.headerName, apiKey.value);
  return authType === 'basic' ? basic(basicAuth.username, basicAuth.password) : nothing;
}

/** The request as JSON. Variables that are a text are sent as they are written, since a double does not hold each of their numbers. */
function operationOf({ query, operationName, variables }: Query): string {
  const fields = JSON.stringify({ query, ...(operationName !== undefined && { operationName }) });
  return `${fields.slice(0, -1)},"variables":${variablesOf(variables)}}`;
}

function variablesOf(variables: Query['variables']): string {
  if (typeof variables !== 'string') return JSON.stringify(variables);
  if (variables.trim() === '') return '{}';
  let parsed: unknown;
  try {
    parsed = JSON.parse(variables);
  } catch (cause) {
    throw invalidField('variables', 'is not JSON', { cause });
  }
  if (!isJsonObject(parsed)) throw invalidField('variables', 'must be an object');
  return variables;
}

/** Checks that the query has one operation of the given name, and that it is of the declared type: a "query" must not mutate. */
function checkOperation({ query, operationType, operationName }: Query): void {
  const operations = operationsOf(query);
  const named = operations.filter(({ name }) => operationName === undefined || name?.value === operationName);
  if (named.length === 0) throw invalidField('operationName', 'the query has no such operation');
  if (named.length > 1) throw invalidField('operationName', 'the query has several; name one');
  if (named[0]?.operation !== operationType)
    throw invalidField('operationType', `the query is a ${named[0]?.operation}`);
}

function operationsOf(query: string): OperationDefinitionNode[] {
  try {
    const { definitions } = parse(query, { noLocation: true, maxTokens: 20_000 });
    return definitions.filter((definition) => definition.kind === 'OperationDefinition');
  } catch (error) {
    if (!(error instanceof GraphQLError)) throw error;
    const [location] = error.locations ?? [];
    throw invalidField('query', error.message, { cause: error, ...(location && { details: { line: location.line } }) });
  }
}

const MAX_ERRORS = 10;

function answeredErrors(errors: readonly Json[], secrets: readonly string[]): AppError {
  const messages = errors.slice(0, MAX_ERRORS).map((error) => {
    const message =
      isJsonObject(error) && typeof error.message === 'string' ? error.message : 'an error without a message';
    return {
      message: maskIn(message.slice(0, 2_000), secrets),
      path: isJsonObject(error) ? (error.path ?? null) : null,
    };
  });
  return new AppError(
    'UPSTREAM_FAILED',
    messages
      .map(({ message }) => message)
      .join('; ')
      .slice(0, 4_000),
    {
      retry: false,
      details: { errors: messages },
    },
  );
}

const INTROSPECTION = `{ __schema { queryType { name } mutationType { name } types { name kind
  fields { name type { kind name ofType { kind name ofType { kind name ofType { kind name } } } } } } } }`;

function rootsOf(schema: Json): DatasourceItem[] {
  return ['queryType', 'mutationType'].flatMap((root) => {
    const name = at(schema, `__schema.${root}.name`);
    return typeof name === 'string'
      ? [{ name, kind: root === 'queryType' ? 'query' : 'mutation', isContainer: true }]
      : [];
  });
}

/** Lists fields. A path is a type, followed by names of fields; the fields of the last field's type are listed. */
function fieldsOf(schema: Json, path: readonly string[]): DatasourceItem[] {
  const all = at(schema, '__schema.types');
  const types = Array.isArray(all) ? all.filter(isJsonObject) : [];
  const typeNamed = (name: Json | undefined) => types.find((type) => type.name === name);
  const fieldsIn = (type: JsonObject | undefined) =>
    Array.isArray(type?.fields) ? type.fields.filter(isJsonObject) : [];

  const [root, ...steps] = path;
  let type = typeNamed(root);
  for (const step of steps) type = typeNamed(bareName(fieldsIn(type).find(({ name }) => name === step)?.type));
  if (!type) throw new AppError('NOT_FOUND', 'The schema has no such type');
  return fieldsIn(type).map((field) => ({
    name: String(field.name),
    kind: 'field',
    isContainer: fieldsIn(typeNamed(bareName(field.type))).length > 0,
    type: typeText(field.type),
  }));
}

function bareName(type: Json | undefined): Json | undefined {
  if (!isJsonObject(type)) return undefined;
  return isJsonObject(type.ofType) ? bareName(type.ofType) : type.name;
}

function typeText(type: Json | undefined): string {
  if (!isJsonObject(type)) return '';
  if (type.kind === 'NON_NULL') return `${typeText(type.ofType)}!`;
  return type.kind === 'LIST' ? `[${typeText(type.ofType)}]` : String(type.name);
}
