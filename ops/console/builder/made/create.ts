import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useRef } from 'react';
import { importBundle, rollBackImport } from '../../client/bundles.ts';
import { newID } from '../../client/new-id.ts';
import { bundleOf, bundleOfQueries, type Plan } from './plan.ts';

/** Creates all of a page, or nothing; answers with its id. */
export async function createPlanned(tenantID: string, plan: Plan): Promise<string> {
  const { results, skipped, importID } = await importBundle(tenantID, bundleOf(plan));
  const page = results.find(({ originalID }) => originalID === plan.page.id);
  if (page && skipped.length === 0) return page.newID;
  // An asset that the page binds was deleted meanwhile: its queries and widgets would stand alone.
  if (importID) await rollBackImport({ tenantID, importID });
  throw new Error(skipped[0]?.reason ?? 'The page was not created');
}

interface ProposedQuery {
  alias: string;
  query?: { title: string; dataQueryOptions: Readonly<Record<string, unknown>> };
}

/** Creates new queries that a page is to bind; answers with their ids by aliases. */
export async function createQueries(
  tenantID: string,
  sources: readonly ProposedQuery[],
): Promise<ReadonlyMap<string, string>> {
  const wanted = sources.flatMap(({ alias, query }) => (query ? [{ alias, id: newID(), ...query }] : []));
  if (wanted.length === 0) return new Map();
  const queries = wanted.map(({ id, title, dataQueryOptions }) => ({ id, title, options: dataQueryOptions }));
  const { results } = await importBundle(tenantID, bundleOfQueries(queries));
  const ids = new Map(results.map(({ originalID, newID: made }) => [originalID, made]));
  return new Map(wanted.map(({ alias, id }) => [alias, ids.get(id) ?? id]));
}

/**
 * Creates a page and opens it. A second try after an answer that was lost has the keys of the first one, and so makes no second page.
 */
export function useCreatePage(tenantID: string, onClose: () => void) {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const keys = useRef<string[]>([]);
  return useMutation({
    mutationFn: async (make: (nextKey: () => string) => Plan | Promise<string>) => {
      let at = 0;
      const nextKey = () => {
        const key = keys.current[at] ?? newID();
        keys.current[at] = key;
        at += 1;
        return key;
      };
      const made = make(nextKey);
      return made instanceof Promise ? await made : await createPlanned(tenantID, made);
    },
    async onSuccess(appPageID) {
      await Promise.all(
        ['app-pages', 'data-queries', 'imports'].map((name) =>
          queries.invalidateQueries({ queryKey: [name, tenantID] }),
        ),
      );
      onClose();
      await navigate({ to: '/t/$tenantID/pages/$appPageID/edit', params: { tenantID, appPageID } });
    },
  });
}

export type CreatePage = ReturnType<typeof useCreatePage>;
