import { Autocomplete, Group, NumberInput, Select, TextInput } from '@mantine/core';
import { useState } from 'react';
import { expressionOf, type PlainSchedule, plainOf, steps } from './plain-schedule.ts';

type Every = PlainSchedule['every'] | 'expression';

const words: Record<Every, string> = {
  minutes: 'Every few minutes',
  hour: 'Every hour',
  day: 'Every day',
  weekday: 'Every weekday, Monday to Friday',
  week: 'Every week',
  month: 'Every month',
  expression: 'By a cron expression',
};

/** From Monday; cron counts from Sunday. */
const days = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'];

interface Props {
  value: string;
  onChange: (expression: string) => void;
  fault: string | undefined;
}

/** When something is repeated, in words; the cron expression is written from them. */
export function Schedule({ value, onChange, fault }: Props) {
  const plain = plainOf(value);
  const [isWritten, setWritten] = useState(plain === undefined);
  const shown = isWritten ? undefined : plain;
  const set = (next: PlainSchedule) => onChange(expressionOf(next));
  return (
    <>
      <Select
        label="Repeats"
        allowDeselect={false}
        data={Object.entries(words).map(([every, label]) => ({ value: every, label }))}
        value={shown?.every ?? 'expression'}
        error={shown && fault}
        onChange={(every) => {
          setWritten(every === 'expression');
          if (every !== null && every !== 'expression') set(begun(every as PlainSchedule['every'], plain));
        }}
      />
      {shown ? (
        <Group gap="sm" grow>
          <Fields plain={shown} onChange={set} />
        </Group>
      ) : (
        <TextInput
          label="Schedule"
          description="Minute, hour, day, month, day of the week: 0 9 * * 1-5 is 9:00 on weekdays"
          required
          styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }}
          value={value}
          error={fault}
          onChange={({ currentTarget }) => onChange(currentTarget.value)}
        />
      )}
    </>
  );
}

function Fields({ plain, onChange }: { plain: PlainSchedule; onChange: (plain: PlainSchedule) => void }) {
  if (plain.every === 'minutes')
    return (
      <Select
        label="Minutes between"
        allowDeselect={false}
        data={steps.map(String)}
        value={String(plain.minutes)}
        onChange={(minutes) => onChange({ ...plain, minutes: Number(minutes) })}
      />
    );
  if (plain.every === 'hour')
    return (
      <NumberInput
        label="Minutes after the hour"
        min={0}
        max={59}
        clampBehavior="strict"
        value={plain.minute}
        onChange={(minute) => onChange({ ...plain, minute: Number(minute) })}
      />
    );
  return (
    <>
      {plain.every === 'week' && (
        <Select
          label="Day"
          allowDeselect={false}
          data={days.map((label, at) => ({ value: String((at + 1) % 7), label }))}
          value={String(plain.day)}
          onChange={(day) => onChange({ ...plain, day: Number(day) })}
        />
      )}
      {plain.every === 'month' && (
        <NumberInput
          label="Day of the month"
          description={plain.date > 28 && 'Shorter months are left out'}
          min={1}
          max={31}
          clampBehavior="strict"
          value={plain.date}
          onChange={(date) => onChange({ ...plain, date: Math.max(1, Number(date)) })}
        />
      )}
      <TextInput
        label="At"
        type="time"
        value={plain.time}
        onChange={({ currentTarget: { value: time } }) => time !== '' && onChange({ ...plain, time })}
      />
    </>
  );
}

/** A schedule of another kind, at the same time of the day. */
function begun(every: PlainSchedule['every'], before: PlainSchedule | undefined): PlainSchedule {
  const time = before && 'time' in before ? before.time : '09:00';
  if (every === 'minutes') return { every, minutes: 15 };
  if (every === 'hour') return { every, minute: 0 };
  if (every === 'week') return { every, day: 1, time };
  if (every === 'month') return { every, date: 1, time };
  return { every, time };
}

const zones = ['UTC', ...Intl.supportedValuesOf('timeZone').filter((zone) => zone !== 'UTC')];

/** The zone in which the times of a schedule are meant. */
export function TimeZone({ value, onChange, fault }: Props) {
  return (
    <Autocomplete
      label="Time zone"
      description="The times above are of this zone"
      data={zones}
      limit={20}
      value={value}
      error={fault}
      onChange={onChange}
    />
  );
}
