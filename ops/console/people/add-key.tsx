import { Button, CopyButton, Group, Modal, Stack, Text, TextInput } from '@mantine/core';
import { useSessionStorage } from '@mantine/hooks';
import { useMutation } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { createKey } from '../client/people.ts';
import { faultsOf } from '../ui/faults.ts';
import { Notice } from '../ui/notice.tsx';
import { Problem } from '../ui/problem.tsx';
import { Permissions } from './permissions.tsx';
import { RoleChoice } from './role-choice.tsx';

interface Props {
  tenantID: string;
  onCreated: () => void;
  onClose: () => void;
}

/** The key itself is shown once, until the dialog is closed. */
export function AddKey({ tenantID, onCreated, onClose }: Props) {
  const [key, setKey] = useState<string>();
  return (
    <Modal opened onClose={onClose} title="New API key" closeButtonProps={{ 'aria-label': 'Close' }}>
      {key === undefined ? (
        <Form
          tenantID={tenantID}
          onCreated={(created) => {
            setKey(created);
            onCreated();
          }}
        />
      ) : (
        <Shown value={key} onClose={onClose} />
      )}
    </Modal>
  );
}

function Shown({ value, onClose }: { value: string; onClose: () => void }) {
  return (
    <Stack>
      <Notice tone="wait" role="status" title="Copy it now">
        The key is not shown again.
      </Notice>
      <code className="breaks">{value}</code>
      <Group justify="flex-end">
        <CopyButton value={value}>
          {({ copied, copy }) => (
            <Button variant="default" onClick={copy}>
              {copied ? 'Copied' : 'Copy'}
            </Button>
          )}
        </CopyButton>
        <Button onClick={onClose}>Done</Button>
      </Group>
    </Stack>
  );
}

function Form({ tenantID, onCreated }: { tenantID: string; onCreated: (key: string) => void }) {
  const [apiKeyName, setName, forget] = useSessionStorage({ key: `add-key ${tenantID}`, defaultValue: '' });
  const [expiry, setExpiry] = useState('');
  const [roleIDs, setRoleIDs] = useState<string[]>([]);
  const [apiKeyPermissions, setPermissions] = useState<string[]>([]);
  const create = useMutation({
    mutationFn: () => {
      const apiKeyExpiry = expiry === '' ? null : new Date(expiry).toISOString();
      return createKey(tenantID, { apiKeyName, apiKeyExpiry, roleIDs, apiKeyPermissions });
    },
    onSuccess: (key) => {
      forget();
      onCreated(key);
    },
  });
  const faults = faultsOf(create.error);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    create.mutate();
  };
  return (
    <form onSubmit={submit} noValidate>
      <Stack>
        <TextInput
          label="Name"
          required
          data-autofocus
          value={apiKeyName}
          error={faults.get('apiKeyName')}
          onChange={(event) => setName(event.currentTarget.value)}
        />
        <TextInput
          label="Expires"
          description="Empty: never"
          type="datetime-local"
          value={expiry}
          error={faults.get('apiKeyExpiry')}
          onChange={(event) => setExpiry(event.currentTarget.value)}
        />
        <RoleChoice tenantID={tenantID} value={roleIDs} onChange={setRoleIDs} fault={faults.get('roleIDs')} />
        <Text size="sm">Permissions of its own, besides those of its roles:</Text>
        <Permissions
          tenantID={tenantID}
          value={apiKeyPermissions}
          onChange={setPermissions}
          fault={faults.get('apiKeyPermissions')}
        />
        {create.error && faults.size === 0 && <Problem error={create.error} />}
        <Group justify="flex-end">
          <Button type="submit" loading={create.isPending}>
            Create
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
