import './made.css';
import { Button, Modal, Stack, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { type Permission, useMay } from '../../client/may.ts';
import type { Begin } from '../../ui/new-page-dialog.tsx';
import { Notice } from '../../ui/notice.tsx';
import { BlankStep } from './blank-step.tsx';
import { useCreatePage } from './create.ts';
import { QueryStep } from './query-step.tsx';
import { RunsStep } from './runs-step.tsx';
import { TableStep } from './table-step.tsx';
import { WorkflowStep } from './workflow-step.tsx';

type Kind = keyof typeof kinds;

const making: readonly Permission[] = ['appPage.create', 'widget.create', 'bundle.execute'];

const kinds = {
  table: {
    title: 'From a table',
    note: 'A list with search and filters, and forms to add, change and delete rows',
    needs: [...making, 'dataquery.create', 'database.execute', 'database.metadata'],
    Step: TableStep,
  },
  query: {
    title: 'From a query',
    note: 'Fields for its inputs, and its result',
    needs: [...making, 'dataquery.execute'],
    Step: QueryStep,
  },
  workflow: {
    title: 'A form that starts a workflow',
    note: 'Fields for what the workflow asks for; its progress and its result are shown below',
    needs: [...making, 'workflow.execute'],
    Step: WorkflowStep,
  },
  runs: {
    title: 'A board of runs',
    note: 'The runs of a workflow with their state; who may, cancels one or runs it again',
    needs: [...making, 'workflow.read'],
    Step: RunsStep,
  },
  blank: {
    title: 'Blank',
    note: 'An empty page, to which you add what you want',
    needs: ['appPage.create'],
    Step: BlankStep,
  },
} as const satisfies Record<string, { title: string; note: string; needs: readonly Permission[]; Step: unknown }>;

interface Props {
  tenantID: string;
  begin?: Begin | undefined;
  onClose: () => void;
}

/** The ways to a new page. */
export function NewPage({ tenantID, begin, onClose }: Props) {
  const may = useMay();
  const [chosen, setChosen] = useState(begin?.kind);
  const create = useCreatePage(tenantID, onClose);
  const kind = chosen && kinds[chosen];
  const missing = kind?.needs.filter((permission) => !may(permission)) ?? [];
  return (
    <Modal
      opened
      onClose={onClose}
      closeOnClickOutside={false}
      size="lg"
      title={kind ? `New page: ${kind.title.charAt(0).toLowerCase()}${kind.title.slice(1)}` : 'New page'}
    >
      {!kind && <Kinds tenantID={tenantID} onChoose={setChosen} onLeave={onClose} />}
      {kind && missing.length > 0 && (
        <Notice tone="wait">
          Your roles do not let you create all that this page needs. An administrator of the tenant can.
        </Notice>
      )}
      {kind && missing.length === 0 && <kind.Step {...{ tenantID, create, begin }} />}
      {kind && !begin && (
        <Button mt="sm" size="compact-sm" variant="subtle" onClick={() => setChosen(undefined)}>
          Another kind of page
        </Button>
      )}
    </Modal>
  );
}

function Kinds({
  tenantID,
  onChoose,
  onLeave,
}: {
  tenantID: string;
  onChoose: (kind: Kind) => void;
  onLeave: () => void;
}) {
  return (
    <Stack gap="xs">
      {(Object.keys(kinds) as Kind[]).map((kind) => (
        <button key={kind} type="button" className="made-kind" onClick={() => onChoose(kind)}>
          <Text component="span" fw={600}>
            {kinds[kind].title}
          </Text>
          <span className="note">{kinds[kind].note}</span>
        </button>
      ))}
      <Text size="sm">
        Or{' '}
        <Link className="link" to="/t/$tenantID/templates" params={{ tenantID }} onClick={onLeave}>
          start from a template
        </Link>
        : an order desk, a support inbox and others, with their tables and workflows.
      </Text>
    </Stack>
  );
}
