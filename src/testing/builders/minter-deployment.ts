import type { MinterDeployment, MinterDeploymentSpec } from '../../api/v1alpha1/index.ts';

/** A MinterDeployment as the API server returns it, with its defaults. The arguments state only what differs. */
export function aMinterDeployment(
  spec: Partial<MinterDeploymentSpec> = {},
  metadata: MinterDeployment['metadata'] = {},
): MinterDeployment {
  return {
    apiVersion: 'svc.dev/v1alpha1',
    kind: 'MinterDeployment',
    metadata: {
      name: 'minter',
      namespace: 'platform-agent',
      uid: '6b1f7c52-6f3f-4d0c-9c53-8a0f6b4f1a01',
      generation: 1,
      ...metadata,
    },
    spec: {
      image: 'svc-minter:0.1.0',
      replicas: 2,
      vcs: {
        apiBaseURL: 'https://api.github.com',
        org: 'acme',
        repository: 'gitops',
        appIdSecretRef: { name: 'vcs-app-credentials', key: 'app-id' },
      },
      kms: {
        provider: 'gcp',
        keyVersion: 'projects/demo-project/locations/global/keyRings/minter/cryptoKeys/app/cryptoKeyVersions/1',
      },
      rules: {
        inline: {
          scopes: [
            {
              name: 'platform-agent-scope',
              emails: ['platform-agent@demo-project.iam.gserviceaccount.com'],
              permissions: { contents: 'write', pull_requests: 'write', issues: 'write' },
            },
          ],
        },
      },
      issuer: { url: 'https://accounts.google.com', jwksURI: 'https://www.googleapis.com/oauth2/v3/certs' },
      serviceAccount: { create: true },
      allowedCallers: { podSelector: { matchLabels: { app: 'platform-agent' } } },
      limits: { requestsPerMinutePerCaller: 30, maxRepositoriesPerRequest: 10 },
      resources: { requests: { cpu: '100m', memory: '128Mi' }, limits: { cpu: '500m', memory: '256Mi' } },
      podDisruptionBudget: true,
      ...spec,
    },
  };
}
