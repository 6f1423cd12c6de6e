# Production image. Node 24 comes from the base, so the npm package `node` (a devDependency) is not needed.
FROM node:24-bookworm-slim
ENV NODE_ENV=production HOST=0.0.0.0 PORT=3000 DATA_DIR=/data
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev && mkdir /data && chown node:node /data
COPY app.yml ./
COPY migrations ./migrations
COPY src ./src
USER node
VOLUME /data
EXPOSE 3000
HEALTHCHECK --interval=10s --timeout=3s CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/health`).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
# Not through npm: signals must reach the program, and stop it cleanly.
CMD ["node", "src/main.ts"]
