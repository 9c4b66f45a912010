import type { AnyDatasource } from '#shared/datasources/index.ts';

/** What each datasource type does; empty until the first type is declared, and then the compiler asks for it here. */
export const connectors = {} satisfies { [D in AnyDatasource as D['type']]: unknown };
