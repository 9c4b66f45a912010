import { NumberInput, Select, Stack, Text, TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { parseExact } from '#shared/core/lossless-json.ts';
import { createCronJob, saveCronJob, schedulePreviewRead } from '../client/cron.ts';
import { useMay } from '../client/may.ts';
import { dataQueriesRead } from '../client/queries-of-tenant.ts';
import { workflowsRead } from '../client/reads.ts';
import type { Schemas } from '../client/types.ts';
import { faultsOf } from '../ui/faults.ts';
import { FormDialog } from '../ui/form.tsx';
import { JSONEditor } from '../ui/json-editor.tsx';
import { wordsOf } from '../ui/problem.tsx';
import { LocalMoment } from '../ui/time.tsx';

type CronJob = Schemas['CronJob'];

const overlaps: Record<CronJob['overlapPolicy'], string> = {
  allow: 'Begin beside it',
  skip: 'Skip the tick',
  'queue-one': 'Wait for it, one tick at most',
  'cancel-old': 'Cancel it',
};

const missed: Record<CronJob['missedRunPolicy'], string> = {
  skip: 'Leave them out',
  last: 'Catch up with the last one',
  all: 'Catch up with all',
};

interface Props {
  tenantID: string;
  /** Without it, a new one. */
  job?: CronJob;
  onSaved: (cronJobID: string) => Promise<unknown>;
  onClose: () => void;
}

/** When a cron job runs what, and what happens if runs overlap or ticks were missed. */
export function CronJobForm({ tenantID, job, onSaved, onClose }: Props) {
  const [draft, setDraft] = useState(() => draftOf(job));
  const set = (change: Partial<typeof draft>) => setDraft({ ...draft, ...change });
  const save = useMutation({
    async mutationFn() {
      const { subject, inputs, ...given } = draft;
      const about = given.cronJobType === 'workflow' ? { workflowID: subject } : { dataQueryID: subject };
      const inputValues = inputs.trim() === '' ? {} : { inputValues: parseExact(inputs) };
      const wanted = { ...given, cronJobConfig: { ...about, ...inputValues } } as Schemas['CronJobCreate'];
      const id = job ? job.cronJobID : await createCronJob(tenantID, wanted);
      if (job) await saveCronJob({ tenantID, cronJobID: id }, wanted);
      await onSaved(id);
    },
    onSuccess: onClose,
  });
  const faults = faultsOf(save.error);
  return (
    <FormDialog
      title={job ? 'Change the cron job' : 'New cron job'}
      verb={job ? 'Save' : 'Create'}
      save={save}
      onClose={onClose}
    >
      <TextInput
        label="Title"
        required
        data-autofocus
        value={draft.cronJobTitle}
        error={faults.get('cronJobTitle')}
        onChange={({ currentTarget: { value } }) => set({ cronJobTitle: value })}
      />
      <TextInput
        label="Schedule"
        description="Minute, hour, day, month, day of the week"
        required
        ff="monospace"
        value={draft.cronJobSchedule}
        error={faults.get('cronJobSchedule')}
        onChange={({ currentTarget: { value } }) => set({ cronJobSchedule: value })}
      />
      <TextInput
        label="Time zone"
        value={draft.timezone}
        error={faults.get('timezone')}
        onChange={({ currentTarget: { value } }) => set({ timezone: value })}
      />
      <InWords tenantID={tenantID} schedule={draft.cronJobSchedule} timezone={draft.timezone} />
      <Select
        label="Runs"
        allowDeselect={false}
        data={[
          { value: 'workflow', label: 'A workflow' },
          { value: 'dataQuery', label: 'A query' },
        ]}
        value={draft.cronJobType}
        onChange={(next) => set({ cronJobType: next as CronJob['cronJobType'], subject: '' })}
      />
      <Subject
        tenantID={tenantID}
        type={draft.cronJobType}
        value={draft.subject}
        fault={faults.get('cronJobConfig')}
        onChange={(subject) => set({ subject })}
      />
      <JSONEditor
        label="Inputs"
        description="JSON by the names of the inputs"
        minRows={2}
        maxRows={10}
        value={draft.inputs}
        onChange={(inputs) => set({ inputs })}
      />
      <details className="group">
        <summary>If something is in the way</summary>
        <Stack gap="sm">
          <Select
            label="If the run before goes on"
            allowDeselect={false}
            data={Object.entries(overlaps).map(([value, label]) => ({ value, label }))}
            value={draft.overlapPolicy}
            onChange={(next) => set({ overlapPolicy: next as CronJob['overlapPolicy'] })}
          />
          <Select
            label="If ticks were missed"
            allowDeselect={false}
            data={Object.entries(missed).map(([value, label]) => ({ value, label }))}
            value={draft.missedRunPolicy}
            onChange={(next) => set({ missedRunPolicy: next as CronJob['missedRunPolicy'] })}
          />
          <NumberInput
            label="Further attempts"
            hideControls
            value={draft.retryAttempts}
            error={faults.get('retryAttempts')}
            onChange={(next) => set({ retryAttempts: next as number })}
          />
          <NumberInput
            label="Seconds until a run is given up"
            hideControls
            value={draft.timeoutSeconds}
            error={faults.get('timeoutSeconds')}
            onChange={(next) => set({ timeoutSeconds: next as number })}
          />
        </Stack>
      </details>
    </FormDialog>
  );
}

/** The schedule as the API understands it, while it is typed. */
function InWords({ tenantID, schedule, timezone }: { tenantID: string; schedule: string; timezone: string }) {
  const [typed] = useDebouncedValue(schedule.trim(), 300);
  const [zone] = useDebouncedValue(timezone.trim(), 300);
  const { data, error } = useQuery(schedulePreviewRead(tenantID, typed, zone));
  return (
    <div role="status">
      {error && (
        <Text size="sm" className="fault">
          {wordsOf(error)}
        </Text>
      )}
      {data && !error && (
        <>
          <Text size="sm">{data.scheduleDescription}. Next:</Text>
          <ol className="lines">
            {data.runs.map(({ at, local }) => (
              <li key={at}>
                <LocalMoment at={at} local={local} />
              </li>
            ))}
          </ol>
        </>
      )}
    </div>
  );
}

interface SubjectProps {
  tenantID: string;
  type: CronJob['cronJobType'];
  value: string;
  fault: string | undefined;
  onChange: (id: string) => void;
}

function Subject({ tenantID, type, value, fault, onChange }: SubjectProps) {
  const may = useMay();
  const isWorkflow = type === 'workflow';
  const workflows = useQuery({ ...workflowsRead(tenantID), enabled: isWorkflow && may('workflow.list') });
  const queries = useQuery({ ...dataQueriesRead(tenantID, {}), enabled: !isWorkflow && may('dataquery.list') });
  const data = isWorkflow
    ? workflows.data?.map(({ id, title }) => ({ value: id, label: title }))
    : queries.data?.rows.map(({ dataQueryID, dataQueryTitle }) => ({ value: dataQueryID, label: dataQueryTitle }));
  return (
    <Select
      label={isWorkflow ? 'Workflow' : 'Query'}
      required
      searchable
      allowDeselect={false}
      data={data ?? []}
      value={value || null}
      error={fault}
      onChange={(next) => next && onChange(next)}
    />
  );
}

function draftOf(job: CronJob | undefined) {
  const { workflowID, dataQueryID, inputValues } = job?.cronJobConfig ?? {};
  return {
    cronJobTitle: job?.cronJobTitle ?? '',
    cronJobSchedule: job?.cronJobSchedule ?? '0 9 * * 1-5',
    timezone: job?.timezone ?? Intl.DateTimeFormat().resolvedOptions().timeZone,
    cronJobType: job?.cronJobType ?? ('workflow' as const),
    subject: String(workflowID ?? dataQueryID ?? ''),
    inputs: inputValues === undefined ? '' : JSON.stringify(inputValues, null, 2),
    overlapPolicy: job?.overlapPolicy ?? ('skip' as const),
    missedRunPolicy: job?.missedRunPolicy ?? ('last' as const),
    retryAttempts: job?.retryAttempts ?? 0,
    timeoutSeconds: job?.timeoutSeconds ?? 3_600,
  };
}
