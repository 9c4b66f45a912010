import { Modal, Skeleton, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type Variable, variableUsageRead } from '../client/variables.ts';
import { countOf } from '../ui/count.ts';
import { Problem } from '../ui/problem.tsx';

interface Props {
  tenantID: string;
  variable: Variable;
  onClose: () => void;
}

/** The workflows that name a variable. */
export function VariableUsage({ tenantID, variable: { id, name }, onClose }: Props) {
  const { data, error, refetch } = useQuery(variableUsageRead({ tenantID, variableID: id }));
  return (
    <Modal opened onClose={onClose} title={`Where ${name} is used`}>
      {error && <Problem error={error} onRetry={() => void refetch()} />}
      {!data && !error && <Skeleton h={80} />}
      {data && (
        <Stack gap="xs">
          {data.workflows.length === 0 && data.others === 0 && <Text size="sm">No workflow names it.</Text>}
          {data.workflows.map(({ workflowID, workflowTitle, isPublished }) => (
            <span key={workflowID} className="breaks">
              <Link className="link" to="/t/$tenantID/workflows/$workflowID" params={{ tenantID, workflowID }}>
                <bdi>{workflowTitle}</bdi>
              </Link>{' '}
              {!isPublished && <span className="note">in its draft alone</span>}
            </span>
          ))}
          {data.others > 0 && (
            <Text size="sm">
              {data.workflows.length > 0 ? 'And ' : ''}
              {countOf(data.others, 'workflow')} that {data.others === 1 ? 'is' : 'are'} not listed, or that you may not
              read.
            </Text>
          )}
          <Text size="xs" c="dimmed">
            A name that code puts together is not found.
          </Text>
        </Stack>
      )}
    </Modal>
  );
}
