import { NumberInput, Select, Stack, Text, TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { createCronJob, saveCronJob, schedulePreviewRead } from '../client/cron.ts';
import { errorInPlaceOf } from '../client/error-in-place.ts';
import type { Schemas } from '../client/types.ts';
import { DeclaredInputs } from '../ui/declared-inputs.tsx';
import { faultsIn, faultsOf } from '../ui/faults.ts';
import { FormDialog } from '../ui/form.tsx';
import { isObject } from '../ui/is-object.ts';
import { isID } from '../ui/picked.ts';
import { Picker } from '../ui/picker.tsx';
import { wordsOf } from '../ui/problem.tsx';
import { JSONControl } from '../ui/schema-control.tsx';
import { LocalMoment } from '../ui/time.tsx';
import { Schedule, TimeZone } from './schedule.tsx';

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
      const wanted = {
        ...given,
        cronJobConfig: { ...about, ...(inputs !== undefined && { inputValues: inputs }) },
      } as Schemas['CronJobCreate'];
      const id = job ? job.cronJobID : await createCronJob(tenantID, wanted);
      if (job) await saveCronJob({ tenantID, cronJobID: id }, wanted);
      await onSaved(id);
    },
    onSuccess: onClose,
  });
  const faults = faultsOf(save.error);
  const within = faultsIn('cronJobConfig', save.error);
  const type = draft.cronJobType;
  const inputs = (
    <JSONControl
      label="Inputs"
      description="JSON by the names of the inputs"
      error={undefined}
      required={false}
      disabled={false}
      isCode
      value={draft.inputs}
      onChange={(next) => set({ inputs: next })}
    />
  );
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
      <Schedule
        value={draft.cronJobSchedule}
        fault={faults.get('cronJobSchedule')}
        onChange={(cronJobSchedule) => set({ cronJobSchedule })}
      />
      <TimeZone value={draft.timezone} fault={faults.get('timezone')} onChange={(timezone) => set({ timezone })} />
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
      <Picker
        key={type}
        types={[type]}
        label={type === 'workflow' ? 'Workflow' : 'Query'}
        required
        value={draft.subject}
        error={faults.get('cronJobConfig')}
        onChange={(subject = '') => set({ subject })}
      />
      {isID(draft.subject) && isObject(draft.inputs ?? {}) ? (
        <DeclaredInputs
          type={type}
          id={draft.subject}
          label="Inputs"
          root="cron"
          value={draft.inputs as Readonly<Record<string, unknown>> | undefined}
          onChange={(inputs) => set({ inputs })}
          faultOf={(key) => within.get(`inputValues.${key}`)}
          other={
            <details className="group">
              <summary>Inputs as JSON</summary>
              {inputs}
            </details>
          }
        />
      ) : (
        draft.subject !== '' && inputs
      )}
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
            label="If times were missed"
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
  const read = useQuery(schedulePreviewRead(tenantID, typed, zone));
  const { data } = read;
  const error = errorInPlaceOf(read);
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
          <ol className="lines prose">
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

function draftOf(job: CronJob | undefined) {
  const { workflowID, dataQueryID, inputValues } = job?.cronJobConfig ?? {};
  return {
    cronJobTitle: job?.cronJobTitle ?? '',
    cronJobSchedule: job?.cronJobSchedule ?? '0 9 * * 1-5',
    timezone: job?.timezone ?? Intl.DateTimeFormat().resolvedOptions().timeZone,
    cronJobType: job?.cronJobType ?? ('workflow' as const),
    subject: String(workflowID ?? dataQueryID ?? ''),
    inputs: inputValues as unknown,
    overlapPolicy: job?.overlapPolicy ?? ('skip' as const),
    missedRunPolicy: job?.missedRunPolicy ?? ('last' as const),
    retryAttempts: job?.retryAttempts ?? 0,
    timeoutSeconds: job?.timeoutSeconds ?? 3_600,
  };
}
