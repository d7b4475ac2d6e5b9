# syntax=docker/dockerfile:1
# The count system's Node.js monolith.
FROM node:22-slim
WORKDIR /app/monolith
COPY systems/count/monolith/package.json systems/count/monolith/package-lock.json ./
RUN npm ci --omit=dev --no-audit --no-fund
COPY systems/count/listen.js /app/listen.js
COPY systems/count/monolith/ ./
USER node
EXPOSE 3000
HEALTHCHECK --interval=10s --timeout=5s CMD ["node", "-e", "fetch('http://127.0.0.1:3000/').then(r => process.exit(r.status < 500 ? 0 : 1), () => process.exit(1))"]
CMD ["node", "server.js"]
