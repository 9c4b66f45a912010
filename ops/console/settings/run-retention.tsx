import { Text } from '@mantine/core';
import type { QueryKey } from '@tanstack/react-query';
import type { Schemas } from '../client/types.ts';
import { countOf } from '../ui/count.ts';
import { useSettings } from './draft.ts';
import { LimitInput, SettingsForm } from './form.tsx';

interface Props {
  /** The owner of the runs: those of a workflow are kept as the tenant's, where nothing else is set. */
  of: 'tenant' | 'workflow';
  retention: Schemas['RunRetention'];
  mayChange: boolean;
  queryKey: QueryKey;
  send: (change: Schemas['RunRetentionUpdate']) => Promise<Schemas['RunRetention']>;
}

/** How long ended runs are kept. */
export function RunRetention({ of, retention: { days, runs, inForce, maxDays }, mayChange, queryKey, send }: Props) {
  const { draft, set, ...form } = useSettings({
    saved: { days, runs },
    queryKey,
    async send(change) {
      const saved = await send(change);
      return { days: saved.days, runs: saved.runs };
    },
  });
  const ofEach = of === 'tenant' ? ' of each workflow' : '';
  return (
    <SettingsForm title="Ended runs" mayChange={mayChange} {...form}>
      <Text size="sm">
        In force: {countOf(inForce.days, 'day')}
        {inForce.runs !== null && `, the newest ${countOf(inForce.runs, 'run')}${ofEach}`}. The deployment allows{' '}
        {countOf(maxDays, 'day')}. It counts at once: runs that are no longer kept are deleted within minutes.
      </Text>
      <LimitInput
        label="Days"
        description={of === 'tenant' ? 'Empty: as the deployment has it' : 'Empty: as the tenant has it'}
        readOnly={!mayChange}
        value={draft.days}
        error={form.faults.get('days')}
        onChange={(value) => set({ days: value })}
      />
      <LimitInput
        label={`Newest runs${ofEach}`}
        description={of === 'tenant' ? 'Empty: all of them, so long' : 'Empty: as the tenant has it'}
        readOnly={!mayChange}
        value={draft.runs}
        error={form.faults.get('runs')}
        onChange={(value) => set({ runs: value })}
      />
    </SettingsForm>
  );
}
