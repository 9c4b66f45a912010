import { Button, Stack, Text } from '@mantine/core';
import { type QueryClient, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useContext } from 'react';
import { useMay } from '../../../client/may.ts';
import { type QueryAnswer, type QueryIDs, runDataQuery } from '../../../client/queries-of-tenant.ts';
import type { PageState } from '../../../page/state/page-state.ts';
import { useTenantID } from '../../../ui/asset-title.tsx';
import { faultsIn } from '../../../ui/faults.ts';
import { isObject } from '../../../ui/is-object.ts';
import { Problem } from '../../../ui/problem.tsx';
import { ResultTable } from '../../../ui/result-table.tsx';
import { PageOnCanvas } from '../values/page-now.tsx';

type Inputs = Readonly<Record<string, unknown>>;

/** The last answer to a run from here, for as long as the console is open. */
const answerKey = ({ tenantID, dataQueryID }: QueryIDs) => ['page-builder-run', tenantID, dataQueryID];

/** The columns of the last answer; none before a run. */
export function columnsOfRun(queries: QueryClient, ids: QueryIDs): string[] {
  const answer = queries.getQueryData<QueryAnswer>(answerKey(ids));
  const first = Array.isArray(answer?.dataQueryResult) ? answer.dataQueryResult[0] : undefined;
  return answer?.columns?.map(({ name }) => name) ?? (isObject(first) ? Object.keys(first) : []);
}

/** Runs a query as the caller, with its inputs as the page has them now, and shows the answer. */
export function RunNow({ dataQueryID, inputs }: { dataQueryID: string; inputs: Inputs }) {
  const ids = { tenantID: useTenantID(), dataQueryID };
  const page = useContext(PageOnCanvas);
  const queries = useQueryClient();
  const may = useMay(`dataquery:${dataQueryID}`);
  const { data: answer } = useQuery<QueryAnswer>({ queryKey: answerKey(ids), enabled: false });
  const run = useMutation({
    mutationFn: async () => runDataQuery(ids, await valuesNow(page, inputs)),
    onSuccess: (next) => queries.setQueryData(answerKey(ids), next),
  });
  if (!may('dataquery.execute')) return <Text size="xs">You may not run this query yourself.</Text>;
  const faults = [...faultsIn('inputValues', run.error)];
  return (
    <Stack gap="xs">
      <div>
        <Button size="compact-sm" variant="default" loading={run.isPending} onClick={() => run.mutate()}>
          Run it now
        </Button>
      </div>
      {run.error && faults.length === 0 && <Problem error={run.error} />}
      {faults.map(([key, text]) => (
        <Text key={key} size="sm" className="error-text" role="alert">
          <bdi>
            {key}: {text}
          </bdi>
        </Text>
      ))}
      {answer && !run.error && <ResultTable answer={answer} />}
    </Stack>
  );
}

async function valuesNow(page: PageState | undefined, inputs: Inputs): Promise<Inputs> {
  if (!page) return inputs;
  const { value, faults } = await page.bindings.once(inputs, { event: {} });
  const [fault] = faults;
  if (fault) throw new Error(`An input cannot be computed: {{${fault.source}}} ${fault.message}`);
  return isObject(value) ? Object.fromEntries(Object.entries(value).filter(([, one]) => one !== undefined)) : {};
}
