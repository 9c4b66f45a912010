import { Button, Container, Group, Paper, Skeleton, Stack, Text, TextInput } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { tenantsRead } from '../client/reads.ts';
import { body, rest } from '../client/rest.ts';
import { PageTitle } from '../ui/page.tsx';
import { Problem, wordsOf } from '../ui/problem.tsx';

export function TenantsPage() {
  const { data, error, isPending, refetch } = useQuery(tenantsRead);
  return (
    <Container size="sm">
      <PageTitle title="Tenants" />
      <Stack>
        <Text size="sm">A tenant is a space of its own, with its own workflows, data and members.</Text>
        {error && <Problem error={error} onRetry={() => void refetch()} />}
        {isPending && <Skeleton h={64} />}
        {data?.length === 0 && <Text>You are in no tenant yet. Create the first one.</Text>}
        {data?.map(({ tenantID, tenantTitle, tenantDescription, pausedAt }) => (
          <Paper key={tenantID} withBorder p="md">
            <Group justify="space-between">
              <div>
                <Link to="/t/$tenantID" params={{ tenantID }} className="link">
                  <Text span fw={600}>
                    <bdi>{tenantTitle}</bdi>
                  </Text>
                </Link>
                {tenantDescription && (
                  <Text size="sm" c="dimmed">
                    {tenantDescription}
                  </Text>
                )}
              </div>
              {pausedAt && <Text size="sm">paused</Text>}
            </Group>
          </Paper>
        ))}
        <NewTenant />
      </Stack>
    </Container>
  );
}

function NewTenant() {
  const [title, setTitle] = useState('');
  const queries = useQueryClient();
  const navigate = useNavigate();
  const create = useMutation({
    mutationFn: () => body(rest.POST('/api/v1/tenants', { body: { tenantTitle: title.trim() } })),
    onSuccess: async ({ tenant }) => {
      await queries.invalidateQueries({ queryKey: tenantsRead.queryKey });
      await navigate({ to: '/t/$tenantID', params: { tenantID: tenant.tenantID } });
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    create.mutate();
  };
  return (
    <Paper withBorder p="md" component="form" onSubmit={submit}>
      <Group align="end">
        <TextInput
          label="New tenant"
          placeholder="Title"
          required
          flex={1}
          value={title}
          onChange={(event) => setTitle(event.currentTarget.value)}
          error={create.error && wordsOf(create.error)}
        />
        <Button type="submit" variant="default" loading={create.isPending}>
          Create
        </Button>
      </Group>
    </Paper>
  );
}
