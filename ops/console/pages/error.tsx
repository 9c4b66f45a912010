import { Button, Container } from '@mantine/core';
import { type ErrorComponentProps, Link } from '@tanstack/react-router';
import { PageTitle } from '../ui/page.tsx';
import { Problem } from '../ui/problem.tsx';

export function ErrorPage({ error, reset }: ErrorComponentProps) {
  return (
    <Container size="sm" py="xl">
      <PageTitle title="This page failed" />
      <Problem error={error instanceof Error ? error : new Error(String(error))} onRetry={reset} />
    </Container>
  );
}

export function NotFoundPage() {
  return (
    <Container component="main" size="sm" py="xl">
      <PageTitle title="There is no such page" />
      <Button component={Link} to="/" variant="default">
        To the start
      </Button>
    </Container>
  );
}
