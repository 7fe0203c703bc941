import { customGroup, customVersions, externalGroup } from './paths.ts';

const info = (version: string): unknown => ({ title: 'svc-query metrics for autoscalers', version });

/** The document of an OpenAPI path; undefined for other paths. The answers are lists of values, without a schema. */
export function openApiDocument(path: string, version: string, external: boolean): unknown {
  const groups = [
    ...customVersions.map((v) => `apis/${customGroup}/${v}`),
    ...(external ? [`apis/${externalGroup}/v1beta1`] : []),
  ];
  if (path === '/openapi/v2') return { swagger: '2.0', info: info(version), paths: {}, definitions: {} };
  if (path === '/openapi/v3') {
    const serverRelativeURL = (group: string): string => `/openapi/v3/${group}?hash=${version}`;
    return {
      paths: Object.fromEntries(groups.map((group) => [group, { serverRelativeURL: serverRelativeURL(group) }])),
    };
  }
  if (groups.some((group) => path === `/openapi/v3/${group}`)) {
    return { openapi: '3.0.0', info: info(version), paths: {}, components: { schemas: {} } };
  }
  return undefined;
}
