import { Skeleton, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { useMay } from '../../client/may.ts';
import { auditRetentionRead, runRetentionRead, saveAuditRetention, saveRunRetention } from '../../client/settings.ts';
import type { Schemas } from '../../client/types.ts';
import { useSettings } from '../../settings/draft.ts';
import { LimitInput, SettingsForm } from '../../settings/form.tsx';
import { RunRetention } from '../../settings/run-retention.tsx';
import { countOf } from '../../ui/count.ts';
import { PageTitle } from '../../ui/page.tsx';
import { Problem } from '../../ui/problem.tsx';

/** How long ended runs and the audit trail are kept. */
export function RetentionSettingsPage() {
  const { tenantID } = useParams({ from: '/shell/t/$tenantID/settings/retention' });
  const runs = useQuery(runRetentionRead(tenantID));
  const audit = useQuery(auditRetentionRead(tenantID));
  const mayChange = useMay()('tenant.update');
  const error = runs.error ?? audit.error;
  return (
    <>
      <PageTitle title="Retention" />
      {error && <Problem error={error} onRetry={() => void Promise.all([runs.refetch(), audit.refetch()])} />}
      {!error && !(runs.data && audit.data) && <Skeleton h={320} />}
      <Stack key={tenantID} maw={720}>
        {runs.data && (
          <RunRetention
            of="tenant"
            retention={runs.data}
            mayChange={mayChange}
            queryKey={runRetentionRead(tenantID).queryKey}
            send={(change) => saveRunRetention(tenantID, change)}
          />
        )}
        {audit.data && <Audit tenantID={tenantID} retention={audit.data} mayChange={mayChange} />}
      </Stack>
    </>
  );
}

interface AuditProps {
  tenantID: string;
  retention: Schemas['AuditRetention'];
  mayChange: boolean;
}

function Audit({ tenantID, retention: { days, inForce, minDays, maxDays }, mayChange }: AuditProps) {
  const { draft, set, ...form } = useSettings({
    saved: { days },
    queryKey: ['settings', tenantID, 'audit-retention'],
    send: async (change) => ({ days: (await saveAuditRetention(tenantID, change)).days }),
  });
  return (
    <SettingsForm title="Audit trail" mayChange={mayChange} {...form}>
      <Text size="sm">
        In force: {countOf(inForce, 'day')}. The deployment allows {minDays.toLocaleString()} to{' '}
        {maxDays.toLocaleString()}. Older entries are deleted within minutes, with their seals.
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
