import { Box, Button, Group, Modal, Skeleton, Stack, Text } from '@mantine/core';
import { useInfiniteQuery, useMutation } from '@tanstack/react-query';
import { lazy, Suspense, useState } from 'react';
import { useAuthorNames } from '../client/members.ts';
import { publishVersion, restoreVersion, versionsRead, type WorkflowIDs } from '../client/workflows.ts';
import { May } from '../ui/may.tsx';
import { Problem } from '../ui/problem.tsx';
import { MoreButton } from '../ui/table.tsx';
import { Ago } from '../ui/time.tsx';

const WhatChanged = lazy(() => import('./what-changed.tsx').then(({ WhatChanged: one }) => ({ default: one })));

/** The versions of a workflow: who has saved them and when, what each changed, and the way back to it. */
export function Versions({
  ids,
  isDirty,
  onReload,
  onClose,
}: {
  ids: WorkflowIDs;
  isDirty: boolean;
  onReload: () => Promise<void>;
  onClose: () => void;
}) {
  const read = useInfiniteQuery(versionsRead(ids));
  const { error } = read;
  const versions = read.data?.pages.flatMap((page) => page.versions);
  const [shown, setShown] = useState<string>();
  const authorOf = useAuthorNames(ids.tenantID);
  const act = useMutation({
    mutationFn: async ({ versionID, verb }: { versionID: string; verb: 'restore' | 'publish' }) => {
      await (verb === 'restore' ? restoreVersion : publishVersion)({ ...ids, versionID });
      await onReload();
    },
    onSuccess: onClose,
  });
  return (
    <Modal opened onClose={onClose} title="Versions" size="xl">
      <Stack>
        {error && <Problem error={error} />}
        {act.error && <Problem error={act.error} />}
        {isDirty && <Text size="sm">Save the changes first: restoring a version would drop them.</Text>}
        {!versions && !error && <Skeleton h={120} />}
        {versions && (
          <div className="scroller">
            <table className="list">
              <caption className="unseen">Versions, newest first</caption>
              <thead>
                <tr>
                  <th scope="col">Version</th>
                  <th scope="col">Saved</th>
                </tr>
              </thead>
              <tbody>
                {versions.map(({ versionID, versionNumber, label, isPublished, createdAt, ...by }, index) => (
                  <tr key={versionID} data-selected={versionID === shown}>
                    <td>
                      {versionNumber} {isPublished && '(published)'} {label && <bdi>{label}</bdi>}
                    </td>
                    <td>
                      <Group gap={6} justify="space-between">
                        <Box flex="1 1 10rem" miw={0}>
                          <Ago at={createdAt} />
                          <div className="note clip">
                            by <bdi>{authorOf(by.creatorID, by.createdByApiKeyID)}</bdi>
                          </div>
                        </Box>
                        <Group gap={6}>
                          <Button size="compact-xs" variant="default" onClick={() => setShown(versionID)}>
                            What changed
                          </Button>
                          <May permission="workflow.update" on={`workflow:${ids.workflowID}`}>
                            {index > 0 && (
                              <Button
                                size="compact-xs"
                                variant="default"
                                disabled={isDirty || act.isPending}
                                onClick={() => act.mutate({ versionID, verb: 'restore' })}
                              >
                                Restore as a draft
                              </Button>
                            )}
                            {!isPublished && (
                              <Button
                                size="compact-xs"
                                variant="default"
                                disabled={isDirty || act.isPending}
                                onClick={() => act.mutate({ versionID, verb: 'publish' })}
                              >
                                Publish
                              </Button>
                            )}
                          </May>
                        </Group>
                      </Group>
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
            <MoreButton of={read} />
          </div>
        )}
        {shown !== undefined && (
          <Suspense fallback={<Skeleton h={40} />}>
            <WhatChanged ids={ids} versionID={shown} />
          </Suspense>
        )}
      </Stack>
    </Modal>
  );
}
