import { Button, FileButton, Group, Modal, Skeleton, Stack, Text, Textarea, TextInput } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { useMay } from '../../client/may.ts';
import { tenantsRead } from '../../client/reads.ts';
import { deleteTenant, saveTenant, setIntake, tenantRead, uploadLogo } from '../../client/settings.ts';
import type { Schemas } from '../../client/types.ts';
import { useSettings } from '../../settings/draft.ts';
import { Section, SettingsForm } from '../../settings/form.tsx';
import { PageTitle } from '../../ui/page.tsx';
import { Problem } from '../../ui/problem.tsx';
import { Ago } from '../../ui/time.tsx';
import { WhoChanged } from '../../ui/who-changed.tsx';

type Tenant = Schemas['CountedTenant'];

/** The tenant itself: its name and logo, whether it takes in runs, and its end. */
export function TenantSettingsPage() {
  const { tenantID } = useParams({ from: '/shell/t/$tenantID/settings/' });
  const may = useMay();
  const { data: tenant, error, refetch } = useQuery(tenantRead(tenantID));
  return (
    <>
      <PageTitle title="Tenant">
        <WhoChanged tenantID={tenantID} assetID={tenantID} />
      </PageTitle>
      {error && <Problem error={error} onRetry={() => void refetch()} />}
      {!tenant && !error && <Skeleton h={320} />}
      {tenant && (
        <Stack maw={720} key={tenantID}>
          <Name tenant={tenant} />
          {may('tenant.update') && <Logo tenant={tenant} />}
          {may('tenant.update') && <IntakePause tenant={tenant} />}
          {may('tenant.delete') && <End tenant={tenant} />}
        </Stack>
      )}
    </>
  );
}

function Name({ tenant }: { tenant: Tenant }) {
  const { tenantID, tenantTitle, tenantDescription } = tenant;
  const mayChange = useMay()('tenant.update');
  const queries = useQueryClient();
  const { draft, set, ...form } = useSettings({
    saved: { tenantTitle, tenantDescription },
    queryKey: ['settings', tenantID, 'tenant'],
    async send(change) {
      const saved = await saveTenant(tenantID, change);
      void queries.invalidateQueries({ queryKey: tenantsRead.queryKey });
      return { tenantTitle: saved.tenantTitle, tenantDescription: saved.tenantDescription };
    },
  });
  return (
    <SettingsForm title="Name" mayChange={mayChange} {...form}>
      <TextInput
        label="Title"
        required
        readOnly={!mayChange}
        value={draft.tenantTitle}
        error={form.faults.get('tenantTitle')}
        onChange={({ currentTarget: { value } }) => set({ tenantTitle: value })}
      />
      <Textarea
        label="Description"
        autosize
        minRows={2}
        readOnly={!mayChange}
        value={draft.tenantDescription ?? ''}
        error={form.faults.get('tenantDescription')}
        onChange={({ currentTarget: { value } }) => set({ tenantDescription: value === '' ? null : value })}
      />
    </SettingsForm>
  );
}

function Logo({ tenant: { tenantID, tenantLogoURL } }: { tenant: Tenant }) {
  const queries = useQueryClient();
  const change = useMutation({
    mutationFn: async (file: File | null) => {
      if (file) await uploadLogo(tenantID, file);
      else await saveTenant(tenantID, { tenantLogoURL: null });
    },
    onSuccess: () => queries.invalidateQueries({ queryKey: ['settings', tenantID, 'tenant'] }),
  });
  return (
    <Section title="Logo">
      <Stack gap="sm">
        {/* Logos elsewhere are not loaded: they would learn who looks. */}
        {tenantLogoURL?.startsWith('/') ? (
          <img src={tenantLogoURL} alt="Logo of the tenant" className="logo" />
        ) : (
          <Text size="sm">{tenantLogoURL ? <bdi>{tenantLogoURL}</bdi> : 'None.'}</Text>
        )}
        {change.error && <Problem error={change.error} />}
        <Group>
          <FileButton
            accept="image/png,image/jpeg,image/gif,image/webp"
            onChange={(file) => file && change.mutate(file)}
          >
            {(button) => (
              <Button {...button} variant="default" loading={change.isPending}>
                Upload an image
              </Button>
            )}
          </FileButton>
          {tenantLogoURL && (
            <Button variant="default" loading={change.isPending} onClick={() => change.mutate(null)}>
              Remove
            </Button>
          )}
        </Group>
      </Stack>
    </Section>
  );
}

function IntakePause({ tenant: { tenantID, pausedAt } }: { tenant: Tenant }) {
  const queries = useQueryClient();
  const change = useMutation({
    mutationFn: () => setIntake(tenantID, pausedAt ? 'resume' : 'pause'),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['settings', tenantID, 'tenant'] }),
  });
  return (
    <Section title="Pause">
      <Stack gap="sm">
        <Text size="sm">
          {pausedAt ? (
            <>
              Paused <Ago at={pausedAt} />: no workflow of the tenant begins a run.
            </>
          ) : (
            'Workflows of the tenant begin runs. A pause holds all of them; runs that have begun go on.'
          )}
        </Text>
        {change.error && <Problem error={change.error} />}
        <div>
          <Button variant="default" loading={change.isPending} onClick={() => change.mutate()}>
            {pausedAt ? 'Resume all workflows' : 'Pause all workflows'}
          </Button>
        </div>
      </Stack>
    </Section>
  );
}

function End({ tenant }: { tenant: Tenant }) {
  const [isAsking, asking] = useDisclosure(false);
  return (
    <Section title="Delete the tenant">
      <Stack gap="sm">
        <Text size="sm">With everything that it owns. Runs in flight are cancelled. There is no way back.</Text>
        <div>
          <Button variant="default" className="dangerous" onClick={asking.open}>
            Delete …
          </Button>
        </div>
      </Stack>
      {isAsking && <Delete tenant={tenant} onClose={asking.close} />}
    </Section>
  );
}

function Delete({ tenant: { tenantID, tenantTitle }, onClose }: { tenant: Tenant; onClose: () => void }) {
  const [typed, setTyped] = useState('');
  const navigate = useNavigate();
  const queries = useQueryClient();
  const act = useMutation({
    mutationFn: () => deleteTenant(tenantID),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: tenantsRead.queryKey });
      await navigate({ to: '/', ignoreBlocker: true });
    },
  });
  return (
    <Modal opened onClose={onClose} title="Delete the tenant">
      <Stack>
        <Text size="sm">
          Its title is <bdi>{tenantTitle}</bdi>
        </Text>
        <TextInput
          label="Type the title"
          data-autofocus
          value={typed}
          onChange={({ currentTarget: { value } }) => setTyped(value)}
        />
        {act.error && <Problem error={act.error} />}
        <Group justify="flex-end">
          <Button color="red" disabled={typed !== tenantTitle} loading={act.isPending} onClick={() => act.mutate()}>
            Delete for good
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
