import type { Rights } from '#shared/access/policy/rights.ts';
import { isJsonObject } from '#shared/core/json.ts';
import { requireValue } from '#shared/core/schema/parse.ts';
import { triggerQuery } from '#shared/triggers/listeners/actions.ts';
import { resolveTemplates } from '#shared/workflow/resolve-config.ts';
import type { Queries } from '../../../datasources/queries/queries.ts';
import type { RunAction } from './action.ts';
import { creatorMayNot } from './creator-rights.ts';

/** Runs a query. `runActions` writes its outcome at once, because the query is not part of a transaction of our own database. */
export function createRunQuery({ queries, rights }: { queries: Queries; rights: Rights }): RunAction {
  return async (config, { tenantID, eventID, actionID, event, caller, signal }) => {
    const { dataQueryID, inputValues } = requireValue(triggerQuery.config, config, ['actionConfig']);
    const access = { permission: 'dataquery.execute', object: `dataquery:${dataQueryID}` } as const;
    if (!(await rights.may({ tenantID, caller }, access))) throw creatorMayNot(`execute the data query ${dataQueryID}`);
    const filled = inputValues && resolveTemplates(inputValues, event, { root: 'event' });
    const { rowCount, affectedRows, durationMs } = await queries.run({
      tenantID,
      caller,
      query: { kind: 'stored', dataQueryID },
      inputs: isJsonObject(filled) ? filled : { event },
      mode: 'run',
      isFresh: true,
      isPaged: false,
      signal,
      idempotencyKey: `${eventID}.${actionID}`,
      isDryRun: false,
    });
    return { result: { rowCount: rowCount ?? null, affectedRows: affectedRows ?? null, durationMs } };
  };
}
