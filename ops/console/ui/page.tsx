import { Group, Title } from '@mantine/core';
import { type ReactNode, useEffect, useRef } from 'react';

let isFirst = true;

/** The heading of a page. After navigation the focus is on it, so that a screen reader says where it is. */
export function PageTitle({ title, beside, children }: { title: string; beside?: ReactNode; children?: ReactNode }) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${title} · Gantry`;
  }, [title]);
  useEffect(() => {
    if (!isFirst) heading.current?.focus({ preventScroll: true });
    isFirst = false;
  }, []);
  return (
    <Group justify="space-between" align="center" gap="sm" mb="md">
      <Group gap="sm" align="center">
        <Title order={1} size="h3" ref={heading} tabIndex={-1} className="page-title">
          <bdi>{title}</bdi>
        </Title>
        {beside}
      </Group>
      {children && <Group gap="xs">{children}</Group>}
    </Group>
  );
}
