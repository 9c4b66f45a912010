import { Skeleton, Stack } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { useMay } from '../../client/may.ts';
import { aiConfigRead, aiUsageRead } from '../../client/settings.ts';
import type { Schemas } from '../../client/types.ts';
import { ModelForm } from '../../settings/ai-model.tsx';
import { Section } from '../../settings/form.tsx';
import { PageTitle } from '../../ui/page.tsx';
import { Problem } from '../../ui/problem.tsx';
import { type Column, Scroller, Table } from '../../ui/table.tsx';
import { Moment } from '../../ui/time.tsx';

/** The language model that the tenant uses, and what it has used of it. */
export function AISettingsPage() {
  const { tenantID } = useParams({ from: '/shell/t/$tenantID/settings/ai' });
  const may = useMay();
  const { data: config, error, refetch } = useQuery(aiConfigRead(tenantID));
  const [deletions, setDeletions] = useState(0);
  return (
    <>
      <PageTitle title="AI" />
      {error && <Problem error={error} onRetry={() => void refetch()} />}
      {!config && !error && <Skeleton h={320} />}
      <div className="halves" key={tenantID}>
        {config && (
          // After a deletion the form begins anew.
          <ModelForm
            key={deletions}
            tenantID={tenantID}
            config={config}
            onDeleted={() => setDeletions(deletions + 1)}
          />
        )}
        {may('ai.read') && <Usage tenantID={tenantID} />}
      </div>
    </>
  );
}

type Day = Schemas['AIUsageOfDay'];

const dayColumns: Column<Day>[] = [
  { head: 'Day', cell: ({ day }) => <span className="nowrap">{day}</span> },
  { head: 'Calls', cell: ({ calls }) => calls.toLocaleString() },
  { head: 'Tokens in', cell: ({ inputTokens }) => inputTokens.toLocaleString() },
  { head: 'Tokens out', cell: ({ outputTokens }) => outputTokens.toLocaleString() },
];

function Usage({ tenantID }: { tenantID: string }) {
  const { data: usage, error, refetch } = useQuery(aiUsageRead(tenantID));
  return (
    <Section title="Use">
      {error && <Problem error={error} onRetry={() => void refetch()} />}
      {!usage && !error && <Skeleton h={160} />}
      {usage && (
        <Stack gap="xs">
          <dl className="facts">
            <div>
              <dt>Tokens today</dt>
              <dd>
                {usage.today.used.toLocaleString()} of {usage.today.max.toLocaleString()}, until{' '}
                <Moment at={usage.today.resetsAt} />
              </dd>
            </div>
            <div>
              <dt>Tokens this month</dt>
              <dd>
                {usage.month.used.toLocaleString()} of {usage.month.max.toLocaleString()}
              </dd>
            </div>
            <div>
              <dt>Calls under way</dt>
              <dd>
                {usage.calls.used} of {usage.calls.max}
              </dd>
            </div>
          </dl>
          {usage.days.length > 0 && (
            <Scroller label="Use by day">
              <Table caption="Use by day" columns={dayColumns} rows={usage.days} idOf={({ day }) => day} />
            </Scroller>
          )}
        </Stack>
      )}
    </Section>
  );
}
