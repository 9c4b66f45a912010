import type { Method } from '../route/route.ts';

/** JSON Schema 2020-12, which is what OpenAPI 3.1 speaks. */
export interface Schema {
  type?: string | string[];
  title?: string;
  format?: string;
  description?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
  enum?: unknown[];
  const?: unknown;
  default?: unknown;
  examples?: unknown[];
  additionalProperties?: Schema | boolean;
  $ref?: string;
  $defs?: Record<string, Schema>;
  [keyword: string]: unknown;
}

export interface Parameter {
  name: string;
  in: 'path' | 'query' | 'header';
  required: boolean;
  description?: string;
  schema: Schema;
}

export interface Reference {
  $ref: string;
}

/** Schemas by media type. */
export type Content = Record<string, { schema: Schema; example?: unknown }>;

export interface Operation {
  operationId: string;
  tags: string[];
  summary: string;
  description: string;
  parameters: (Parameter | Reference)[];
  requestBody?: { required: boolean; content: Content };
  responses: Record<
    string,
    { description: string; headers?: Record<string, Reference>; content?: Content } | Reference
  >;
  security: Record<string, string[]>[];
  'x-permission'?: string | string[];
}

export interface OpenAPI {
  openapi: '3.1.0';
  info: { title: string; version: string; description: string; license: { name: string; identifier: string } };
  servers: { url: string; description: string }[];
  tags: { name: string; description: string }[];
  paths: Record<string, Partial<Record<Method, Operation>>>;
  components: {
    schemas: Record<string, Schema>;
    responses: Record<string, { description: string; content: Content }>;
    parameters: Record<string, Parameter>;
    headers: Record<string, Pick<Parameter, 'description' | 'schema'>>;
    securitySchemes: Record<string, object>;
  };
}
