import { Skeleton, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { requestsRead } from '../client/reads.ts';
import { PageTitle } from '../ui/page.tsx';
import { Problem } from '../ui/problem.tsx';
import { questionKind, questionTitle } from '../ui/question.ts';
import { Ago } from '../ui/time.tsx';

/** Forms and approvals that wait. */
export function InboxPage() {
  const { tenantID } = useParams({ from: '/shell/t/$tenantID/inbox' });
  const { data, error, isPending, refetch } = useQuery({ ...requestsRead(tenantID), refetchInterval: 5_000 });
  return (
    <>
      <PageTitle title="Inbox" />
      {error && <Problem error={error} onRetry={() => void refetch()} />}
      {isPending && <Skeleton h={200} />}
      {data && (
        <div className="panel scroller">
          {data.requests.length === 0 ? (
            <Text p="xl" ta="center" c="dimmed">
              No question waits for an answer.
            </Text>
          ) : (
            <table className="list">
              <caption className="unseen">Questions that wait for an answer</caption>
              <thead>
                <tr>
                  <th scope="col">Question</th>
                  <th scope="col">Kind</th>
                  <th scope="col">Asked</th>
                  <th scope="col" className="wide">
                    Expires
                  </th>
                </tr>
              </thead>
              <tbody>
                {data.requests.map((request) => (
                  <tr key={request.collectionRequestID}>
                    <td>
                      <Link
                        className="link"
                        to="/t/$tenantID/inbox/$requestID"
                        params={{ tenantID, requestID: request.collectionRequestID }}
                      >
                        <bdi>{questionTitle(request)}</bdi>
                      </Link>
                    </td>
                    <td>{questionKind(request)}</td>
                    <td>
                      <Ago at={request.createdAt} />
                    </td>
                    <td className="wide nowrap">
                      {request.expiresAt ? new Date(request.expiresAt).toLocaleString() : 'never'}
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          )}
        </div>
      )}
    </>
  );
}
