import { Group, Title } from '@mantine/core';
import { type ReactNode, useEffect, useRef } from 'react';

let isFirst = true;

interface TitleProps {
  title: string;
  /** A field in which the title is changed: it stands in place of the heading, which only screen readers have then. */
  field?: ReactNode;
  beside?: ReactNode;
  children?: ReactNode;
}

/** The heading of a page. After navigation the focus is on it, so that a screen reader says where it is. */
export function PageTitle({ title, field, beside, children }: TitleProps) {
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
        <Title order={1} size="h3" ref={heading} tabIndex={-1} className={field ? 'page-title unseen' : 'page-title'}>
          <bdi>{title}</bdi>
        </Title>
        {field}
        {beside}
      </Group>
      {children && <Group gap="xs">{children}</Group>}
    </Group>
  );
}
