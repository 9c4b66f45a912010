import { useMay } from '../client/may.ts';
import { OWN } from '../client/own-database.ts';
import { type DraftQuery, type QueryAnswer, runDraftQuery } from '../client/queries-of-tenant.ts';
import { rememberAnswer } from '../client/query-answers.ts';
import type { Source } from './tables.ts';

type DraftRun = Record<'run' | 'explain', (args: object) => Promise<QueryAnswer>>;

/** Runs a query as it stands, before it is saved; undefined where the caller may not. */
export function useDraftRun(
  { tenantID, type, datasourceID }: Source,
  dataQueryOptions: Readonly<Record<string, unknown>>,
): DraftRun | undefined {
  const mayTest = useMay('dataquery:*')('dataquery.test');
  const mayReadSource = useMay(`datasource:${datasourceID ?? '*'}`)('datasource.read');
  const mayUseOwn = useMay()('database.execute');
  const mayUse = datasourceID ? mayReadSource : type === OWN && mayUseOwn;
  if (!mayTest || !mayUse) return undefined;
  const target = datasourceID ? { datasourceID } : { datasourceType: type };
  const dataQuery = { dataQueryOptions, ...target } as DraftQuery;
  return {
    run: async (args) => {
      const answer = await runDraftQuery(tenantID, { dataQuery, args, explains: false });
      rememberAnswer(tenantID, dataQueryOptions.query, answer);
      return answer;
    },
    explain: (args) => runDraftQuery(tenantID, { dataQuery, args, explains: true }),
  };
}
