import { Box, Button, Paper, Skeleton } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { parseListFilter } from '../../client/list-filter.ts';
import { APIError } from '../../client/rest.ts';
import { deleteVariable, type Variable, variablesRead } from '../../client/variables.ts';
import { withoutTurning } from '../../code/turning.ts';
import { VariableDialog } from '../../settings/variable-dialog.tsx';
import { VariableUsage } from '../../settings/variable-usage.tsx';
import { Confirm } from '../../ui/confirm.tsx';
import { Empty } from '../../ui/empty.tsx';
import { May } from '../../ui/may.tsx';
import { PageTitle } from '../../ui/page.tsx';
import { Problem } from '../../ui/problem.tsx';
import { RowMenu } from '../../ui/row-menu.tsx';
import { type Column, PageButtons, Table } from '../../ui/table.tsx';
import { TextFilter } from '../../ui/text-filter.tsx';
import { Ago } from '../../ui/time.tsx';
import { WhoChanged } from '../../ui/who-changed.tsx';

const from = '/shell/t/$tenantID/settings/variables';

/** Values that workflows read by name; those of secrets are never shown. */
export function VariableSettingsPage() {
  const { tenantID } = useParams({ from });
  const { search, cursor } = useSearch({ from });
  const navigate = useNavigate({ from: '/t/$tenantID/settings/variables' });
  const queries = useQueryClient();
  const [edited, setEdited] = useState<Variable | 'new'>();
  const [doomed, setDoomed] = useState<Variable>();
  const [used, setUsed] = useState<Variable>();
  const { data, error, refetch } = useQuery(
    variablesRead(tenantID, { ...(search && { search }), ...(cursor && { cursor }) }),
  );
  const show = (filter: { search?: string; cursor?: string }) =>
    void navigate({ search: parseListFilter({ ...filter }) });
  const refresh = () => queries.invalidateQueries({ queryKey: ['variables', tenantID] });
  const columns: Column<Variable>[] = [
    {
      head: 'Name',
      cell: ({ name }) => (
        <Box miw={{ sm: '12rem' }}>
          <code className="breaks">{name}</code>
        </Box>
      ),
    },
    {
      head: 'Value',
      cell: (row) => (
        <Box className="clip" maw="min(14rem, 30vw)">
          {row.isSecret ? <span className="null">{secretWords(row)}</span> : valueText(row)}
        </Box>
      ),
    },
    { head: 'Description', cell: ({ description }) => <bdi>{description ?? '–'}</bdi>, isWide: true },
    { head: 'Changed', cell: ({ updatedAt }) => <Ago at={updatedAt} />, isWide: true },
    {
      head: 'Used in',
      cell: (row) => (
        <button
          type="button"
          className="plain link"
          aria-label={`Show where ${row.name} is used`}
          onClick={() => setUsed(row)}
        >
          Show
        </button>
      ),
      isWide: true,
    },
    { head: 'History', cell: ({ id }) => <WhoChanged tenantID={tenantID} assetID={id} />, isWide: true },
    {
      head: 'Actions',
      isPinned: true,
      cell: (row) => (
        <RowMenu
          of={row.name}
          on={`variable:${row.id}`}
          actions={[
            { label: 'Show where it is used', permission: 'variable.read', onClick: () => setUsed(row) },
            { label: 'Change', permission: 'variable.update', onClick: () => setEdited(row) },
            { label: 'Delete', permission: 'variable.delete', onClick: () => setDoomed(row), isDangerous: true },
          ]}
        />
      ),
    },
  ];
  return (
    <>
      <PageTitle title="Variables">
        <May permission="variable.create" on="variable:*">
          <Button onClick={() => setEdited('new')}>New variable</Button>
        </May>
      </PageTitle>
      <search aria-label="Filter variables">
        <Paper withBorder p="sm" mb="md" className="filters">
          <TextFilter label="Search" value={search} onSet={(next) => show({ search: next ?? '' })} />
        </Paper>
      </search>
      {error && <Problem error={error} onRetry={() => void refetch()} />}
      {!data && !error && <Skeleton h={240} />}
      {data && (
        <div className="panel scroller">
          {data.variables.length === 0 ? (
            <NoVariable isFiltered={Boolean(search)} onCreate={() => setEdited('new')} />
          ) : (
            <Table caption="Variables" columns={columns} rows={data.variables} idOf={({ id }) => id} />
          )}
        </div>
      )}
      <PageButtons
        cursor={cursor}
        next={data?.nextCursor}
        onGo={(next) => show({ search: search ?? '', cursor: next ?? '' })}
      />
      {edited && (
        <VariableDialog
          tenantID={tenantID}
          {...(edited !== 'new' && { variable: edited })}
          onSaved={refresh}
          onClose={() => setEdited(undefined)}
        />
      )}
      {used && <VariableUsage tenantID={tenantID} variable={used} onClose={() => setUsed(undefined)} />}
      {doomed && (
        <DeleteVariable
          tenantID={tenantID}
          variable={doomed}
          onDeleted={refresh}
          onClose={() => setDoomed(undefined)}
        />
      )}
    </>
  );
}

function NoVariable({ isFiltered, onCreate }: { isFiltered: boolean; onCreate: () => void }) {
  if (isFiltered) return <Empty>Nothing matches the filter.</Empty>;
  const first = (
    <May permission="variable.create" on="variable:*">
      <Button onClick={onCreate}>Add the first variable</Button>
    </May>
  );
  return (
    <Empty action={first}>
      No variable yet. A variable is a value that workflows read by its name, such as an address or a password: it is
      changed in one place. The value of a secret is never shown again.
    </Empty>
  );
}

interface DeleteProps {
  tenantID: string;
  variable: Variable;
  onDeleted: () => Promise<unknown>;
  onClose: () => void;
}

/** One that published workflows use is deleted only after the API has said so, and the person insists. */
function DeleteVariable({ tenantID, variable: { id, name }, onDeleted, onClose }: DeleteProps) {
  const [refusal, setRefusal] = useState<string>();
  return (
    <Confirm
      key={refusal}
      title="Delete the variable"
      question={refusal === undefined ? `“${name}” is deleted.` : `${refusal} Delete it all the same?`}
      verb={refusal === undefined ? 'Delete' : 'Delete all the same'}
      onConfirm={async () => {
        try {
          await deleteVariable({ tenantID, variableID: id }, refusal !== undefined);
        } catch (error) {
          if (!(error instanceof APIError && error.status === 409 && refusal === undefined)) throw error;
          setRefusal(`${error.message}.`);
          // Rejects, so that the dialog stays open.
          throw error;
        }
        await onDeleted();
      }}
      onClose={onClose}
    />
  );
}

function secretWords({ isReadable }: Variable): string {
  return isReadable ? 'secret' : 'secret, sealed with a key that is not here: give it again';
}

function valueText({ value }: Variable): string {
  return withoutTurning(typeof value === 'string' ? value : (JSON.stringify(value) ?? '')).slice(0, 300);
}
