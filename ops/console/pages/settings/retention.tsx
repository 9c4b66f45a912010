import { Skeleton, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { useMay } from '../../client/may.ts';
import { auditRetentionRead, runRetentionRead, saveAuditRetention, saveRunRetention } from '../../client/settings.ts';
import type { Schemas } from '../../client/types.ts';
import { useSettings } from '../../settings/draft.ts';
import { LimitInput, SettingsForm } from '../../settings/form.tsx';
import { PageTitle } from '../../ui/page.tsx';
import { Problem } from '../../ui/problem.tsx';

/** How long ended runs and the audit trail are kept. */
export function RetentionSettingsPage() {
  const { tenantID } = useParams({ from: '/shell/t/$tenantID/settings/retention' });
  const runs = useQuery(runRetentionRead(tenantID));
  const audit = useQuery(auditRetentionRead(tenantID));
  const error = runs.error ?? audit.error;
  return (
    <>
      <PageTitle title="Retention" />
      {error && <Problem error={error} onRetry={() => void Promise.all([runs.refetch(), audit.refetch()])} />}
      {!error && !(runs.data && audit.data) && <Skeleton h={320} />}
      <Stack key={tenantID} maw={720}>
        {runs.data && <Runs tenantID={tenantID} retention={runs.data} />}
        {audit.data && <Audit tenantID={tenantID} retention={audit.data} />}
      </Stack>
    </>
  );
}

function Runs({ tenantID, retention }: { tenantID: string; retention: Schemas['RunRetention'] }) {
  const { days, runs, inForce, maxDays } = retention;
  const mayChange = useMay()('tenant.update');
  const { draft, set, ...form } = useSettings({
    saved: { days, runs },
    queryKey: ['settings', tenantID, 'retention'],
    async send(change) {
      const saved = await saveRunRetention(tenantID, change);
      return { days: saved.days, runs: saved.runs };
    },
  });
  return (
    <SettingsForm title="Ended runs" mayChange={mayChange} {...form}>
      <Text size="sm">
        In force: {inForce.days.toLocaleString()} days
        {inForce.runs !== null && `, ${inForce.runs.toLocaleString()} runs of each workflow`}. The deployment allows{' '}
        {maxDays.toLocaleString()} days. Runs that are no longer kept are deleted within minutes.
      </Text>
      <LimitInput
        label="Days"
        description="Empty: as the deployment has it"
        readOnly={!mayChange}
        value={draft.days}
        error={form.faults.get('days')}
        onChange={(days) => set({ days })}
      />
      <LimitInput
        label="Newest runs of each workflow"
        description="Empty: all of them, so long"
        readOnly={!mayChange}
        value={draft.runs}
        error={form.faults.get('runs')}
        onChange={(runs) => set({ runs })}
      />
    </SettingsForm>
  );
}

function Audit({ tenantID, retention }: { tenantID: string; retention: Schemas['AuditRetention'] }) {
  const { days, inForce, maxDays } = retention;
  const mayChange = useMay()('tenant.update');
  const { draft, set, ...form } = useSettings({
    saved: { days },
    queryKey: ['settings', tenantID, 'audit-retention'],
    send: async (change) => ({ days: (await saveAuditRetention(tenantID, change)).days }),
  });
  return (
    <SettingsForm title="Audit trail" mayChange={mayChange} {...form}>
      <Text size="sm">
        In force: {inForce.toLocaleString()} days. The deployment allows {maxDays.toLocaleString()}. Older entries are
        deleted within minutes, with their seals.
      </Text>
      <LimitInput
        label="Days of the trail"
        description="Empty: as the deployment has it"
        readOnly={!mayChange}
        value={draft.days}
        error={form.faults.get('days')}
        onChange={(days) => set({ days })}
      />
    </SettingsForm>
  );
}
