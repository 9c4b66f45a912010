import { Button, Container, Group, Paper, Skeleton, Stack, Text, Textarea } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { errorInPlaceOf } from '../client/error-in-place.ts';
import { useMay } from '../client/may.ts';
import { useMemberNames } from '../client/members.ts';
import { meRead } from '../client/reads.ts';
import {
  approvalPolicyRead,
  approveCall,
  type CallIDs,
  refuseCall,
  type ToolCall,
  toolCallRead,
} from '../client/tool-approvals.ts';
import { CallState, useCallerName } from '../inbox/call.tsx';
import { CallValues } from '../ui/call-values.tsx';
import { wordsOfName } from '../ui/field-words.ts';
import { Notice } from '../ui/notice.tsx';
import { PageTitle } from '../ui/page.tsx';
import { Problem } from '../ui/problem.tsx';
import { Ago, Moment } from '../ui/time.tsx';

/** A call of a tool over MCP: what is called, by whose rights, and the decision. */
export function ToolCallPage() {
  const ids = useParams({ from: '/shell/t/$tenantID/inbox/calls/$toolCallID' });
  const read = useQuery(toolCallRead(ids));
  const { data: call, refetch } = read;
  const error = errorInPlaceOf(read);
  const callerOf = useCallerName(ids.tenantID);
  const nameOf = useMemberNames(ids.tenantID);
  if (error)
    return (
      <>
        <PageTitle title="Call of a tool" />
        <Problem error={error} onRetry={() => void refetch()} />
      </>
    );
  if (!call) return <Skeleton h={240} />;
  const { tool, input, caller, createdAt, expiresAt, decidedBy, decidedAt, reason, error: failure } = call;
  return (
    <Container size="sm">
      <PageTitle
        title={wordsOfName(tool)}
        beside={
          <span role="status">
            <CallState of={call} />
          </span>
        }
      />
      <Stack>
        <dl className="facts">
          <div>
            <dt>Called by</dt>
            <dd>
              <bdi>{callerOf(caller)}</bdi>
            </dd>
          </div>
          <div>
            <dt>Asked</dt>
            <dd>
              <Ago at={createdAt} />
            </dd>
          </div>
          {decidedBy === null && (
            <div>
              <dt>Expires</dt>
              <dd>
                <Moment at={expiresAt} />
              </dd>
            </div>
          )}
          {decidedBy !== null && (
            <div>
              <dt>Decided by</dt>
              <dd>
                <bdi>{nameOf(decidedBy)}</bdi> {decidedAt && <Ago at={decidedAt} />}
              </dd>
            </div>
          )}
        </dl>
        {reason && (
          <Notice tone="idle" title="Reason">
            <bdi>{reason}</bdi>
          </Notice>
        )}
        {failure && (
          <Notice tone="bad" title="It failed">
            <bdi>{failure}</bdi>
          </Notice>
        )}
        <Text component="h2" fw={600}>
          What it is called with
        </Text>
        <section className="panel" aria-label="Input of the call">
          <CallValues of={input} />
        </section>
        {call.status === 'asked' && <Decision ids={ids} call={call} />}
      </Stack>
    </Container>
  );
}

function Decision({ ids, call }: { ids: CallIDs; call: ToolCall }) {
  const { tenantID } = ids;
  const may = useMay();
  const queries = useQueryClient();
  const [reason, setReason] = useState('');
  const { data: policy } = useQuery({ ...approvalPolicyRead(tenantID), enabled: may('tenant.read') });
  const { data: me } = useQuery(meRead);
  const decide = useMutation({
    mutationFn: (isApproved: boolean) => (isApproved ? approveCall(ids) : refuseCall(ids, reason.trim())),
    onSettled: () => queries.invalidateQueries({ queryKey: ['tool-calls', tenantID] }),
  });
  const isUpToAnother = policy?.byAnother === true && me?.userID === call.caller.userID;
  return (
    <Paper withBorder p="md">
      <Stack>
        {isUpToAnother && (
          <Notice tone="wait" title="Up to another person">
            This tenant does not let callers approve their own calls. You may refuse it.
          </Notice>
        )}
        <Textarea
          label="Reason of a refusal"
          description="The client is told"
          autosize
          minRows={2}
          maxLength={1_000}
          value={reason}
          onChange={({ currentTarget: { value } }) => setReason(value)}
        />
        {decide.error && <Problem error={decide.error} />}
        <Group>
          {!isUpToAnother && (
            <Button loading={decide.isPending} onClick={() => decide.mutate(true)}>
              Approve
            </Button>
          )}
          <Button variant="default" loading={decide.isPending} onClick={() => decide.mutate(false)}>
            Refuse
          </Button>
        </Group>
      </Stack>
    </Paper>
  );
}
