import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { routeGroups, routes } from '#api/app/routes.ts';
import { publicRoute } from '#api/context/routes.ts';
import { describeRoutes } from '#api/http/openapi/describe-routes.ts';
import type { Operation, Schema } from '#api/http/openapi/types.ts';
import type { Route } from '#api/http/route/route.ts';
import { exampleDatasourceCreate } from '#api/resources/datasources/examples.ts';
import { exampleDataQueryCreate } from '#api/resources/queries/examples.ts';
import { exampleWorkflowCreate } from '#api/resources/workflows/examples.ts';
import { runSync } from '#shared/concurrency/cooperative.ts';
import { findDatasourceType } from '#shared/datasources/types/index.ts';
import { checkGraph, WorkflowEdge, WorkflowNode } from '#shared/workflow/graph/graph.ts';

const document = describeRoutes(routeGroups);
const operations = new Map(
  Object.values(document.paths)
    .flatMap((methods) => Object.values(methods))
    .map((operation) => [operation.operationId, operation]),
);

test('every schema has a name: bodies are components, and no schema declares fields inside another one', () => {
  const unnamed = [...operations.values()].flatMap(({ operationId, requestBody, responses }) => [
    ...(isUnnamed(requestBody?.content['application/json']?.schema) ? [`the body of ${operationId}`] : []),
    ...(answersOf(responses).some(isUnnamed) ? [`an answer of ${operationId}`] : []),
  ]);
  const nested = Object.entries(document.components.schemas).flatMap(([name, schema]) => fieldsWithin(schema, name));

  expect([...unnamed, ...nested]).toEqual([]);
});

test('components are sorted by name, and each is used', () => {
  const names = Object.keys(document.components.schemas);
  const text = JSON.stringify(document);

  expect(names).toEqual(names.toSorted((one, other) => (one < other ? -1 : 1)));
  expect(names.filter((name) => !text.includes(`"#/components/schemas/${name}"`))).toEqual([]);
});

describe('examples', () => {
  test.each(routes.filter(({ body }) => body).map((route) => [route.name, route] as const))(
    'the body of %s is accepted by its route',
    (name, route) => {
      const example = exampleOf(operations.get(name)?.requestBody?.content);

      expect(route.body?.safeParse(example).error?.issues ?? []).toEqual([]);
    },
  );

  test.each(routes.filter(isAnsweredInJSON).map((route) => [route.name, route] as const))(
    'the answer of %s is valid for its route',
    (name, route) => {
      const response = operations.get(name)?.responses[String(route.status ?? 200)];
      const { success, ...fields } = z
        .looseObject({})
        .parse(response && 'content' in response ? exampleOf(response.content) : undefined);

      expect(success).toBe(true);
      // Parsing again drops nothing: no undeclared field is shown.
      expect(route.response.parse(fields)).toEqual(fields);
    },
  );

  test('free-form objects accept the values of their types', () => {
    const { workflowNodes, workflowEdges } = exampleWorkflowCreate;
    const graph = runSync(
      checkGraph(z.array(WorkflowNode).parse(workflowNodes), z.array(WorkflowEdge).parse(workflowEdges)),
    );
    const postgresql = findDatasourceType(exampleDatasourceCreate.datasourceType);

    expect(graph.issues).toEqual([]);
    expect(postgresql?.options.safeParse(exampleDatasourceCreate.datasourceOptions).error).toBeUndefined();
    expect(postgresql?.query.safeParse(exampleDataQueryCreate.dataQueryOptions).error).toBeUndefined();
  });
});

test('refuses two schemas of one name, and a recursive schema without a name', () => {
  const One = z.object({ a: z.string() }).meta({ id: 'Thing' });
  const Other = z.object({ b: z.string() }).meta({ id: 'Thing' });
  const Endless: z.ZodType = z.object({ next: z.lazy(() => Endless.optional()) });

  expect(() => describeAnswers(One, One)).not.toThrow();
  expect(() => describeAnswers(One, Other)).toThrow('Two schemas are called Thing');
  expect(() => describeAnswers(Endless)).toThrow('needs an id');
});

function describeAnswers(...schemas: z.ZodType[]) {
  const routes = schemas.map((thing, index) =>
    publicRoute({
      name: `getThing${index}`,
      method: 'get',
      path: `/things/${index}`,
      summary: 'Get',
      description: 'Returns a thing.',
      response: z.object({ thing }),
      handle: () => Promise.reject(new Error('not called')),
    }),
  );
  return describeRoutes([{ tag: 'Things', description: 'What the test describes.', routes }]);
}

function isAnsweredInJSON({ produces, status }: Route): boolean {
  return produces === undefined && status !== 302;
}

function exampleOf(content: Record<string, { example?: unknown }> = {}): unknown {
  return content['application/json']?.example;
}

function answersOf(responses: Operation['responses']): (Schema | undefined)[] {
  return Object.values(responses).flatMap((response) =>
    'content' in response ? [response.content?.['application/json']?.schema] : [],
  );
}

function isUnnamed(schema: Schema | undefined): boolean {
  return schema !== undefined && schema.$ref === undefined;
}

/** Nested schemas that declare fields. */
function fieldsWithin(schema: Schema, where: string): string[] {
  const inner: [string, Schema][] = [
    ...Object.entries(schema.properties ?? {}),
    ...[schema.anyOf, schema.oneOf, schema.allOf].flatMap((list = []) =>
      list.map((one, index): [string, Schema] => [String(index), one]),
    ),
    ...(schema.items ? [['items', schema.items] as [string, Schema]] : []),
    ...(typeof schema.additionalProperties === 'object'
      ? [['values', schema.additionalProperties] as [string, Schema]]
      : []),
  ];
  return inner.flatMap(([name, one]) => [
    ...(Object.keys(one.properties ?? {}).length > 0 ? [`${where}.${name}`] : []),
    ...fieldsWithin(one, `${where}.${name}`),
  ]);
}
