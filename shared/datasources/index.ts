import type { DatasourceDefinition } from './define-datasource.ts';

/** Every datasource type; the connectors table in `workers/connectors/index.ts` must hold each of them. */
export const datasources = [] as const satisfies readonly DatasourceDefinition[];

export type AnyDatasource = (typeof datasources)[number];
