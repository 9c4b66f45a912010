import { Skeleton, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { useMay } from '../../client/may.ts';
import { dispatchRead, quotasRead, saveDispatch } from '../../client/settings.ts';
import type { Schemas } from '../../client/types.ts';
import { useSettings } from '../../settings/draft.ts';
import { LimitInput, Section, SettingsForm } from '../../settings/form.tsx';
import { quotaAmount, quotaName } from '../../settings/quotas.ts';
import { PageTitle } from '../../ui/page.tsx';
import { Problem } from '../../ui/problem.tsx';
import { type Column, Scroller, Table } from '../../ui/table.tsx';

/** How much the tenant may have at once, and in all. */
export function LimitSettingsPage() {
  const { tenantID } = useParams({ from: '/shell/t/$tenantID/settings/limits' });
  const dispatch = useQuery(dispatchRead(tenantID));
  const quotas = useQuery(quotasRead(tenantID));
  const error = dispatch.error ?? quotas.error;
  return (
    <>
      <PageTitle title="Limits" />
      {error && <Problem error={error} onRetry={() => void Promise.all([dispatch.refetch(), quotas.refetch()])} />}
      {!error && !(dispatch.data && quotas.data) && <Skeleton h={320} />}
      <Stack key={tenantID}>
        {dispatch.data && <AtOnce tenantID={tenantID} dispatch={dispatch.data} />}
        {quotas.data && <Quotas quotas={quotas.data} />}
      </Stack>
    </>
  );
}

function AtOnce({ tenantID, dispatch }: { tenantID: string; dispatch: Schemas['Dispatch'] }) {
  const { ownMaxRuns, grantedMaxRuns, weight } = dispatch;
  const mayChange = useMay()('tenant.update');
  const { draft, set, ...form } = useSettings({
    saved: { maxRuns: ownMaxRuns },
    queryKey: ['settings', tenantID, 'dispatch'],
    send: async (change) => ({ maxRuns: (await saveDispatch(tenantID, change)).ownMaxRuns }),
  });
  return (
    <SettingsForm title="Runs at once" mayChange={mayChange} {...form}>
      <Text size="sm">
        {grantedMaxRuns === null ? 'Operators set no limit' : `Operators grant ${grantedMaxRuns.toLocaleString()}`}.
        Where tenants wait for workers, this one counts {weight === 1 ? 'as one' : `as ${weight}`}. Workflows have
        limits of their own, too.
      </Text>
      <LimitInput
        label="Runs that workers have at once"
        description="Empty: as many as are granted"
        maw={320}
        readOnly={!mayChange}
        value={draft.maxRuns}
        error={form.faults.get('maxRuns')}
        onChange={(maxRuns) => set({ maxRuns })}
      />
    </SettingsForm>
  );
}

type QuotaRow = Schemas['Quota'] & { name: string };

const columns: Column<QuotaRow>[] = [
  { head: 'Quota', cell: ({ name }) => quotaName(name) },
  { head: 'Used', cell: ({ name, used }) => quotaAmount(name, used) },
  {
    head: 'At most',
    cell: ({ name, max, isDefault }) => `${quotaAmount(name, max)}${isDefault ? '' : ', set by an operator'}`,
  },
  {
    head: 'Share',
    cell: ({ name, used, max }) => (
      <meter min={0} max={Math.max(max, 1)} high={max * 0.9} value={used} aria-label={`Used of ${quotaName(name)}`} />
    ),
    isWide: true,
  },
];

/** The fullest ones first. */
function Quotas({ quotas }: { quotas: Schemas['TenantQuotas'] }) {
  const rows = Object.entries(quotas).map(([name, quota]) => ({ name, ...quota }));
  const share = ({ used, max }: QuotaRow) => used / Math.max(max, 1);
  return (
    <Section title="Quotas">
      <Text size="sm" mb="xs">
        What would exceed one is refused. Operators of the deployment raise them.
      </Text>
      <Scroller label="Quotas">
        <Table
          caption="Quotas"
          columns={columns}
          rows={rows.toSorted((one, other) => share(other) - share(one))}
          idOf={({ name }) => name}
        />
      </Scroller>
    </Section>
  );
}
