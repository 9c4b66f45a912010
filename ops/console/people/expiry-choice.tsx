import '@mantine/core/styles/Radio.css';
import { Radio, Stack, Text, TextInput } from '@mantine/core';
import { Notice } from '../ui/notice.tsx';
import { type Expiry, expiresAt, type Lifetime } from './key-expiry.ts';

interface Props {
  value: Expiry;
  onChange: (expiry: Expiry) => void;
  fault: string | undefined;
}

/** How long a new key is valid. */
export function ExpiryChoice({ value, onChange, fault }: Props) {
  const { lifetime, date } = value;
  const at = expiresAt(value, Date.now());
  return (
    <Stack gap="xs">
      <Radio.Group
        label="Expires"
        value={lifetime}
        error={fault}
        onChange={(next) => onChange({ ...value, lifetime: next as Lifetime })}
      >
        <Stack gap={6} mt={6}>
          <Radio value="30" label="In 30 days" />
          <Radio value="90" label="In 90 days" />
          <Radio value="365" label="In 365 days" />
          <Radio value="date" label="On another date" />
          <Radio value="never" label="Never" />
        </Stack>
      </Radio.Group>
      {lifetime === 'date' && (
        <TextInput
          label="Last day"
          type="date"
          required
          value={date}
          error={date !== '' && at === undefined && 'Choose a day that is not over'}
          onChange={(event) => onChange({ ...value, date: event.currentTarget.value })}
        />
      )}
      {at && (
        <Text size="xs">
          Valid until {at.toLocaleDateString(undefined, { dateStyle: 'long' })}. Requests with it are refused then.
        </Text>
      )}
      {lifetime === 'never' && (
        <Notice tone="wait" role="status" title="Without an end">
          The key works until somebody revokes it, also for those who find it in an old script or a log.
        </Notice>
      )}
    </Stack>
  );
}
