import { findDatasourceType } from './index.ts';

/** Why a query of this type cannot be executed exactly once; undefined if it can. */
export function receiptFault(datasourceType: string): string | undefined {
  if (findDatasourceType(datasourceType)?.receipts) return undefined;
  return `a query of a datasource of type "${datasourceType}" cannot write a receipt`;
}
